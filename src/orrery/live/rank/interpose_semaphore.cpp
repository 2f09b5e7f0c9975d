// SPDX-License-Identifier: Apache-2.0
// Semaphores: Python's locks, and with them threading.Event.wait(timeout), queue.get(timeout) and the like.
#include <semaphore.h>
#include <time.h>

#include <cerrno>

#include "orrery/live/rank/interpose_patience.hpp"

namespace {

using namespace orrery::live;

constinit Next<int(sem_t*, const timespec*)> next_sem_timedwait{"sem_timedwait"};
constinit Next<int(sem_t*, clockid_t, const timespec*)> next_sem_clockwait{"sem_clockwait"};

[[gnu::constructor(101)]] void resolve() {
  next_sem_timedwait.get();
  next_sem_clockwait.get();
}

/// Not in every libc that we run on: REALTIME does for waits of milliseconds.
int wait_really(sem_t* semaphore, std::int64_t ns) {
  if (ns == 0) return ::sem_trywait(semaphore);
  const timespec deadline = to_timespec(real_clock_ns(CLOCK_REALTIME) + ns);
  return next_sem_timedwait.get()(semaphore, &deadline);
}

int wait_in_rank(sem_t* semaphore, clockid_t clock, const timespec& deadline) {
  if (::sem_trywait(semaphore) == 0) return 0;
  int result = -1;
  int error = ETIMEDOUT;
  wait_virtually(until_ps(clock, deadline), false, [&](std::int64_t ns) {
    result = wait_really(semaphore, ns);
    error = result == 0 || errno == EAGAIN ? ETIMEDOUT : errno;
    return result == 0 || error != ETIMEDOUT;
  });
  if (result != 0) errno = error;
  return result;
}

}  // namespace

ORRERY_INTERPOSED int sem_timedwait(sem_t* semaphore, const timespec* deadline) {
  if (!is_armed() || !is_valid(deadline)) return next_sem_timedwait.get()(semaphore, deadline);
  if (is_rank_thread()) return wait_in_rank(semaphore, CLOCK_REALTIME, *deadline);
  const timespec real = real_deadline(CLOCK_REALTIME, *deadline);
  return next_sem_timedwait.get()(semaphore, &real);
}

ORRERY_INTERPOSED int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* deadline) {
  if (!is_armed() || !is_valid(deadline)) return next_sem_clockwait.get()(semaphore, clock, deadline);
  if (is_rank_thread()) return wait_in_rank(semaphore, clock, *deadline);
  const timespec real = real_deadline(clock, *deadline);
  return next_sem_clockwait.get()(semaphore, clock, &real);
}
