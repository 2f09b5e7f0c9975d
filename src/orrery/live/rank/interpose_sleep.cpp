// SPDX-License-Identifier: Apache-2.0
// Sleeps take virtual time only. A program that polls for a real child process
// (subprocess.run(timeout=...)) would burn its timeout in no time, so with children a sleep also takes a little
// real time, the same for short ones.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "orrery/live/rank/interpose_patience.hpp"
#include "orrery/live/rank/interpose_threads.hpp"

namespace {

using namespace orrery::live;

constinit Next<int(const timespec*, timespec*)> next_nanosleep{"nanosleep"};
constinit Next<int(clockid_t, int, const timespec*, timespec*)> next_clock_nanosleep{"clock_nanosleep"};
constinit Next<int(useconds_t)> next_usleep{"usleep"};
constinit Next<unsigned(unsigned)> next_sleep{"sleep"};

constexpr std::int64_t kRealSleepMax = 50'000'000;

[[gnu::constructor(101)]] void resolve() {
  next_nanosleep.get();
  next_clock_nanosleep.get();
  next_usleep.get();
  next_sleep.get();
}

void sleep_really(std::int64_t ns) {
  const timespec real = to_timespec(ns);
  next_nanosleep.get()(&real, nullptr);
}

Waited sleep_in_rank(std::int64_t duration_ps, std::int64_t& left_ps) {
  const auto patience = [&] {
    const bool is_polling = !interpose_state.is_at_real_pace && has_children();
    return Patience{std::min(duration_ps / kPsPerNs, is_polling ? kRealSleepMax : kForever)};
  };
  const auto nothing_ends_it = [](std::int64_t ns) {
    if (ns > 0) sleep_really(ns);
    return false;
  };
  return wait_virtually(duration_ps, patience, nothing_ends_it, &left_ps);
}

/// On a thread that is not the rank's, until it becomes that; what is left then, or when an alarm interrupts it.
Waited sleep_beside(std::int64_t duration_ps, std::int64_t& left_ps) {
  const std::uint32_t alarms = alarms_sent();
  const std::int64_t deadline = interpose_state.published_ps.load() + duration_ps;
  AgendaEntry entry{deadline};
  const auto left = [&] { return std::max<std::int64_t>(deadline - virtual_now_ps(), 0); };
  while (!entry.is_due()) {
    if (keeps_time() || take_over_if_stuck()) {
      left_ps = left();
      return Waited::kNotOurs;
    }
    entry.wait(kLookNs);
    if (is_interrupted(alarms)) {
      left_ps = left();
      return Waited::kInterrupted;
    }
  }
  return Waited::kOver;
}

/// What a function like nanosleep() does: 0, EINTR with what is left, or whatever `really()` gives.
template <class Really>
int sleep_or(std::int64_t duration_ps, timespec* left, Really&& really) {
  std::int64_t left_ps = 0;
  switch (sleep_virtually(duration_ps, &left_ps)) {
    case Slept::kDone:
      return 0;
    case Slept::kInterrupted:
      if (left != nullptr) *left = to_timespec(left_ps / kPsPerNs);
      return EINTR;
    case Slept::kNotHere:
      break;
  }
  return really();
}

/// As errno has it.
int failing(int error) {
  if (error == 0) return 0;
  errno = error;
  return -1;
}

}  // namespace

Slept orrery::live::sleep_virtually(std::int64_t duration_ps, std::int64_t* left_ps) {
  if (!is_armed() || interpose_thread.depth > 0) return Slept::kNotHere;
  for (std::int64_t left = duration_ps;;) {
    // Each ends with kNotOurs when it is the other one's turn.
    switch (keeps_time() ? sleep_in_rank(left, left) : sleep_beside(left, left)) {
      case Waited::kOver:
        return Slept::kDone;
      case Waited::kInterrupted:
        if (left_ps != nullptr) *left_ps = left;
        return Slept::kInterrupted;
      case Waited::kRunIsOver:
        return Slept::kNotHere;
      case Waited::kNotOurs:
        break;
    }
  }
}

ORRERY_INTERPOSED int nanosleep(const timespec* duration, timespec* left) {
  if (!is_valid(duration)) return next_nanosleep.get()(duration, left);
  const auto really = [&] { return next_nanosleep.get()(duration, left) == 0 ? 0 : errno; };
  return failing(sleep_or(ns_to_ps(to_ns(*duration)), left, really));
}

ORRERY_INTERPOSED int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  const auto really = [&](const timespec* until) { return next_clock_nanosleep.get()(clock, flags, until, left); };
  if (!is_armed() || !is_virtual_clock(clock) || !is_valid(time)) return really(time);
  if ((flags & TIMER_ABSTIME) == 0) return sleep_or(ns_to_ps(to_ns(*time)), left, [&] { return really(time); });
  return sleep_or(until_ps(clock, *time), nullptr, [&] {
    const timespec deadline = real_deadline(clock, *time);
    return really(&deadline);
  });
}

ORRERY_INTERPOSED int usleep(useconds_t duration) {
  const auto really = [&] { return next_usleep.get()(duration) == 0 ? 0 : errno; };
  return failing(sleep_or(ns_to_ps(std::int64_t{duration} * 1000), nullptr, really));
}

ORRERY_INTERPOSED unsigned sleep(unsigned seconds) {
  timespec left{};
  unsigned real_left = 0;
  const auto really = [&] {
    real_left = next_sleep.get()(seconds);
    return 0;
  };
  sleep_or(ns_to_ps(std::int64_t{seconds} * kNsPerSecond), &left, really);
  return real_left + static_cast<unsigned>(left.tv_sec) + (left.tv_nsec > 0 ? 1 : 0);
}
