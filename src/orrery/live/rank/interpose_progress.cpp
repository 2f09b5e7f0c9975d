// SPDX-License-Identifier: Apache-2.0
// std::condition_variable::wait() on a thread of the rank. Futures of torch wait there, by a call that nobody can
// override, for operations that only we can complete: so we complete one and return, which the standard allows at
// any time; the caller looks again whether it has what it waits for.
#include <pthread.h>

#include <condition_variable>
#include <mutex>

#include "orrery/live/rank/interpose_state.hpp"

namespace {

using namespace orrery::live;

constinit Next<int(pthread_cond_t*, pthread_mutex_t*)> next_wait{"pthread_cond_wait", kConditionVersion};

[[gnu::constructor(101)]] void resolve() { next_wait.get(); }

}  // namespace

// The member function under its own name: it cannot be defined twice in C++, but its symbol can.
ORRERY_INTERPOSED void orrery_condition_wait(
    std::condition_variable* condition,
    std::unique_lock<std::mutex>& lock) __asm__("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");

ORRERY_INTERPOSED void orrery_condition_wait(std::condition_variable* condition,
                                             std::unique_lock<std::mutex>& lock) {
  if (may_progress() && interpose_thread.idle_condition != condition) {
    lock.unlock();
    const int progressed = interpose_state.rank.progress();
    lock.lock();
    // Even without progress the caller must look again: whoever notified while the lock was open is not heard by
    // a wait that begins now. If it still waits then, it comes back here and sleeps.
    interpose_thread.idle_condition = progressed != 0 ? nullptr : condition;
    return;
  }
  interpose_thread.idle_condition = nullptr;
  next_wait.get()(condition->native_handle(), lock.mutex()->native_handle());
}
