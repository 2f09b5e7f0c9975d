// SPDX-License-Identifier: Apache-2.0
// Sleeps. On the rank's thread they take virtual time only. A program that polls for a real child process
// (subprocess.run(timeout=...)) would burn its timeout in no time, so with children a sleep also takes a little
// real time, the same for short ones.
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "orrery/live/rank/interpose_patience.hpp"

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

/// False when the run is over: then sleep really, the program is about to be ended.
bool sleep_in_rank(std::int64_t duration_ps) {
  if (has_children()) {
    const timespec real = to_timespec(std::min(duration_ps / kPsPerNs, kRealSleepMax));
    next_nanosleep.get()(&real, nullptr);
  }
  return virtual_sleep(duration_ps);
}

}  // namespace

ORRERY_INTERPOSED int nanosleep(const timespec* duration, timespec* left) {
  if (is_rank_thread() && is_valid(duration) && sleep_in_rank(ns_to_ps(to_ns(*duration)))) return 0;
  return next_nanosleep.get()(duration, left);
}

ORRERY_INTERPOSED int clock_nanosleep(clockid_t clock, int flags, const timespec* time, timespec* left) {
  if (!is_armed() || !is_virtual_clock(clock) || !is_valid(time)) {
    return next_clock_nanosleep.get()(clock, flags, time, left);
  }
  const bool is_absolute = (flags & TIMER_ABSTIME) != 0;
  if (is_rank_thread()) {
    const std::int64_t duration = is_absolute ? until_ps(clock, *time) : ns_to_ps(to_ns(*time));
    if (sleep_in_rank(duration)) return 0;
  }
  if (!is_absolute) return next_clock_nanosleep.get()(clock, flags, time, left);
  const timespec deadline = real_deadline(clock, *time);
  return next_clock_nanosleep.get()(clock, flags, &deadline, left);
}

ORRERY_INTERPOSED int usleep(useconds_t duration) {
  if (is_rank_thread() && sleep_in_rank(ns_to_ps(std::int64_t{duration} * 1000))) return 0;
  return next_usleep.get()(duration);
}

ORRERY_INTERPOSED unsigned sleep(unsigned seconds) {
  if (is_rank_thread() && sleep_in_rank(ns_to_ps(std::int64_t{seconds} * kNsPerSecond))) return 0;
  return next_sleep.get()(seconds);
}
