// SPDX-License-Identifier: Apache-2.0
// Semaphores: Python's locks, and with them threading.Event.wait(timeout), queue.get(timeout) and the like.
#include <semaphore.h>
#include <time.h>

#include <algorithm>
#include <cerrno>

#include "orrery/live/rank/interpose_patience.hpp"

namespace {

using namespace orrery::live;

constinit Next<int(sem_t*)> next_sem_wait{"sem_wait"};
constinit Next<int(sem_t*, const timespec*)> next_sem_timedwait{"sem_timedwait"};
constinit Next<int(sem_t*, clockid_t, const timespec*)> next_sem_clockwait{"sem_clockwait"};

[[gnu::constructor(101)]] void resolve() {
  next_sem_wait.get();
  next_sem_timedwait.get();
  next_sem_clockwait.get();
}

/// Not in every libc that we run on: REALTIME does for waits of milliseconds.
int wait_really(sem_t* semaphore, std::int64_t ns) {
  if (ns == 0) return ::sem_trywait(semaphore);
  const timespec deadline = to_timespec(real_clock_ns(CLOCK_REALTIME) + ns);
  return next_sem_timedwait.get()(semaphore, &deadline);
}

/// One real wait, and what it came to.
struct Attempt {
  sem_t* semaphore;
  int result = -1;
  int error = ETIMEDOUT;

  /// Whether it was the last.
  bool operator()(std::int64_t ns) {
    result = wait_really(semaphore, ns);
    error = result == 0 || errno == EAGAIN ? ETIMEDOUT : errno;
    return result == 0 || error != ETIMEDOUT;
  }
  [[nodiscard]] int finish() const {
    if (result != 0) errno = error;
    return result;
  }
};

/// What each of these gives is in the attempt. kNotOurs: it is the other one's turn, for what is left.
Waited wait_in_rank(Attempt& attempt, std::int64_t timeout_ps, std::int64_t& left_ps) {
  const auto patience = [&] { return Patience{timeout_ps / kPsPerNs}; };
  const Waited waited = wait_virtually(timeout_ps, patience, attempt, &left_ps);
  if (waited == Waited::kInterrupted) attempt.error = EINTR;
  return waited;
}

Waited wait_beside(Attempt& attempt, std::int64_t timeout_ps, std::int64_t& left_ps) {
  const std::int64_t deadline_ps = interpose_state.published_ps.load() + timeout_ps;
  AgendaEntry entry{deadline_ps};
  while (!entry.is_due()) {
    if (attempt(kLookNs)) return Waited::kOver;
    if (!keeps_time() && !take_over_if_stuck()) continue;
    left_ps = std::max<std::int64_t>(deadline_ps - virtual_now_ps(), 0);
    return Waited::kNotOurs;
  }
  attempt(0);
  return Waited::kOver;
}

/// On any thread of a rank.
int wait_virtually_until(sem_t* semaphore, clockid_t clock, const timespec& deadline) {
  if (::sem_trywait(semaphore) == 0) return 0;
  Attempt attempt{.semaphore = semaphore};
  std::int64_t left = until_ps(clock, deadline);
  while ((keeps_time() ? wait_in_rank(attempt, left, left) : wait_beside(attempt, left, left)) == Waited::kNotOurs) {
  }
  return attempt.finish();
}

}  // namespace

ORRERY_INTERPOSED int sem_wait(sem_t* semaphore) {
  if (!is_rank_thread()) return next_sem_wait.get()(semaphore);
  Attempt attempt{.semaphore = semaphore};
  if (attempt(0)) return attempt.finish();
  // Alone with a pending operation, only its completion can end the wait (a callback that sets an Event).
  while (may_progress() && interpose_state.rank.has_pending()) {
    const Attending attending;
    Patience patience{kForever};
    while (const std::int64_t step = patience.next_step()) {
      if (attempt(step)) return attempt.finish();
    }
    const bool has_progressed = interpose_state.rank.progress() != 0;
    if (attempt(0)) return attempt.finish();
    if (!has_progressed) break;
  }
  const Yielding yielding{semaphore};
  return next_sem_wait.get()(semaphore);
}

ORRERY_INTERPOSED int sem_timedwait(sem_t* semaphore, const timespec* deadline) {
  if (!is_armed() || !is_valid(deadline) || interpose_thread.depth > 0) {
    return next_sem_timedwait.get()(semaphore, deadline);
  }
  return wait_virtually_until(semaphore, CLOCK_REALTIME, *deadline);
}

ORRERY_INTERPOSED int sem_clockwait(sem_t* semaphore, clockid_t clock, const timespec* deadline) {
  if (!is_armed() || !is_valid(deadline) || interpose_thread.depth > 0) {
    return next_sem_clockwait.get()(semaphore, clock, deadline);
  }
  return wait_virtually_until(semaphore, clock, *deadline);
}
