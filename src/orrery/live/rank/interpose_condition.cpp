// SPDX-License-Identifier: Apache-2.0
// Condition variables and timed locks. Timed waits stay real, only their deadlines are translated: Python hands its
// interpreter lock from thread to thread with them (every 5 ms), and with deadlines of the virtual clock it stops.
#include <pthread.h>
#include <time.h>

#include "orrery/live/rank/interpose_state.hpp"

namespace {

using namespace orrery::live;

constinit Next<int(pthread_cond_t*, pthread_mutex_t*, const timespec*)> next_timedwait{
    "pthread_cond_timedwait", kConditionVersion};
constinit Next<int(pthread_cond_t*, pthread_mutex_t*, clockid_t, const timespec*)> next_clockwait{
    "pthread_cond_clockwait"};
constinit Next<int(pthread_mutex_t*, const timespec*)> next_timedlock{"pthread_mutex_timedlock"};
constinit Next<int(pthread_mutex_t*, clockid_t, const timespec*)> next_clocklock{"pthread_mutex_clocklock"};
constinit Next<int(pthread_rwlock_t*, const timespec*)> next_timedrdlock{"pthread_rwlock_timedrdlock"};
constinit Next<int(pthread_rwlock_t*, const timespec*)> next_timedwrlock{"pthread_rwlock_timedwrlock"};

[[gnu::constructor(101)]] void resolve() {
  next_timedwait.get();
  next_clockwait.get();
  next_timedlock.get();
  next_clocklock.get();
  next_timedrdlock.get();
  next_timedwrlock.get();
}

/// The deadline to hand on; `storage` holds it when it is not the caller's own.
const timespec* translated(clockid_t clock, const timespec* deadline, timespec& storage) {
  if (!is_armed() || !is_valid(deadline) || !is_virtual_clock(clock)) return deadline;
  storage = real_deadline(clock, *deadline);
  return &storage;
}

}  // namespace

ORRERY_INTERPOSED int pthread_cond_timedwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                             const timespec* deadline) {
  // Which clock a condition variable goes by is its secret, but the deadline betrays it.
  timespec storage{};
  if (is_armed() && is_valid(deadline)) deadline = translated(clock_of(*deadline), deadline, storage);
  return next_timedwait.get()(condition, mutex, deadline);
}

ORRERY_INTERPOSED int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex,
                                             clockid_t clock, const timespec* deadline) {
  timespec storage{};
  return next_clockwait.get()(condition, mutex, clock, translated(clock, deadline, storage));
}

ORRERY_INTERPOSED int pthread_mutex_timedlock(pthread_mutex_t* mutex, const timespec* deadline) noexcept {
  timespec storage{};
  return next_timedlock.get()(mutex, translated(CLOCK_REALTIME, deadline, storage));
}

ORRERY_INTERPOSED int pthread_mutex_clocklock(pthread_mutex_t* mutex, clockid_t clock,
                                              const timespec* deadline) noexcept {
  timespec storage{};
  return next_clocklock.get()(mutex, clock, translated(clock, deadline, storage));
}

ORRERY_INTERPOSED int pthread_rwlock_timedrdlock(pthread_rwlock_t* lock, const timespec* deadline) noexcept {
  timespec storage{};
  return next_timedrdlock.get()(lock, translated(CLOCK_REALTIME, deadline, storage));
}

ORRERY_INTERPOSED int pthread_rwlock_timedwrlock(pthread_rwlock_t* lock, const timespec* deadline) noexcept {
  timespec storage{};
  return next_timedwrlock.get()(lock, translated(CLOCK_REALTIME, deadline, storage));
}
