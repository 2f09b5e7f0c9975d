// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Threads that share a core and wake each other just before they sleep.
#include <sched.h>

namespace orrery::live {

/// Whoever is woken waits until the one that runs sleeps. By default it runs at once, and the other one has to be
/// switched to once more only to fall asleep: a third more switches a round of two ranks. For the calling
/// thread, if its policy is the ordinary one; returns what that was.
inline int take_turns() {
  const int policy = ::sched_getscheduler(0);
  constexpr sched_param kNoPriority{};
  if (policy == SCHED_OTHER) ::sched_setscheduler(0, SCHED_BATCH, &kNoPriority);
  return policy;
}

}  // namespace orrery::live
