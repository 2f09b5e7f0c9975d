// SPDX-License-Identifier: Apache-2.0
// The clocks of libc. clock() and CPU-time clocks stay real: they count work, not time.
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#include "orrery/live/rank/interpose_lock_site.hpp"
#include "orrery/live/rank/interpose_state.hpp"

namespace {

using namespace orrery::live;

constinit Next<int(timeval*, void*)> next_gettimeofday{"gettimeofday"};
constinit Next<time_t(time_t*)> next_time{"time"};
constinit Next<int(timespec*, int)> next_timespec_get{"timespec_get"};

[[gnu::constructor(101)]] void resolve() {
  next_gettimeofday.get();
  next_time.get();
  next_timespec_get.get();
}

timespec virtual_time(clockid_t clock) {
  return to_timespec(clock_base_ns(clock) + virtual_now_ps() / kPsPerNs);
}

}  // namespace

ORRERY_INTERPOSED int clock_gettime(clockid_t clock, timespec* time) noexcept {
  if (!is_armed() || !is_virtual_clock(clock)) return real_clock_gettime(clock, time);
  if (is_rank_thread() && is_for_python_lock(__builtin_frame_address(0))) {
    const std::int64_t now = interpose_state.published_ps.load(std::memory_order_relaxed);
    *time = to_timespec(clock_base_ns(clock) + now / kPsPerNs);
    return 0;
  }
  *time = virtual_time(clock);
  return 0;
}

ORRERY_INTERPOSED int gettimeofday(timeval* time, void* zone) noexcept {
  if (!is_armed() || zone != nullptr) {
    auto* next = next_gettimeofday.get();
    return next != nullptr ? next(time, zone) : static_cast<int>(::syscall(SYS_gettimeofday, time, zone));
  }
  const timespec now = virtual_time(CLOCK_REALTIME);
  *time = {.tv_sec = now.tv_sec, .tv_usec = now.tv_nsec / 1000};
  return 0;
}

ORRERY_INTERPOSED time_t time(time_t* result) noexcept {
  if (!is_armed()) {
    if (auto* next = next_time.get(); next != nullptr) return next(result);
  }
  const time_t now =
      is_armed() ? virtual_time(CLOCK_REALTIME).tv_sec : real_clock_ns(CLOCK_REALTIME) / kNsPerSecond;
  if (result != nullptr) *result = now;
  return now;
}

ORRERY_INTERPOSED int timespec_get(timespec* time, int base) noexcept {
  if (!is_armed() || base != TIME_UTC) {
    auto* next = next_timespec_get.get();
    return next != nullptr ? next(time, base) : 0;
  }
  *time = virtual_time(CLOCK_REALTIME);
  return base;
}
