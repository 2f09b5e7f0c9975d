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

/// False when the run is over.
bool sleep_in_rank(std::int64_t duration_ps) {
  const auto patience = [&] {
    const bool is_polling = !interpose_state.is_borrowed && has_children();
    return Patience{std::min(duration_ps / kPsPerNs, is_polling ? kRealSleepMax : kForever)};
  };
  return wait_virtually(duration_ps, patience, [](std::int64_t ns) {
    if (ns > 0) sleep_really(ns);
    return false;
  });
}

}  // namespace

bool orrery::live::sleep_virtually(std::int64_t duration_ps) {
  if (is_rank_thread()) return sleep_in_rank(duration_ps);
  if (!is_armed() || interpose_thread.depth > 0) return false;
  const std::int64_t deadline = interpose_state.published_ps.load() + duration_ps;
  AgendaEntry entry{deadline};
  while (!entry.is_due()) {
    if (is_rank_thread() || take_over_if_stuck()) {
      entry.remove();
      return sleep_in_rank(std::max<std::int64_t>(deadline - interpose_state.rank.now(), 0));
    }
    entry.wait(kLookNs);
  }
  return true;
}

ORRERY_INTERPOSED int nanosleep(const timespec* duration, timespec* left) {
  if (is_valid(duration) && sleep_virtually(ns_to_ps(to_ns(*duration)))) return 0;
  return next_nanosleep.get()(duration, left);
}

ORRERY_INTERPOSED int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  if (!is_armed() || !is_virtual_clock(clock) || !is_valid(time)) {
    return next_clock_nanosleep.get()(clock, flags, time, left);
  }
  const bool is_absolute = (flags & TIMER_ABSTIME) != 0;
  if (sleep_virtually(is_absolute ? until_ps(clock, *time) : ns_to_ps(to_ns(*time)))) return 0;
  if (!is_absolute) return next_clock_nanosleep.get()(clock, flags, time, left);
  const timespec deadline = real_deadline(clock, *time);
  return next_clock_nanosleep.get()(clock, flags, &deadline, left);
}

ORRERY_INTERPOSED int usleep(useconds_t duration) {
  if (sleep_virtually(ns_to_ps(std::int64_t{duration} * 1000))) return 0;
  return next_usleep.get()(duration);
}

ORRERY_INTERPOSED unsigned sleep(unsigned seconds) {
  if (sleep_virtually(ns_to_ps(std::int64_t{seconds} * kNsPerSecond))) return 0;
  return next_sleep.get()(seconds);
}
