// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Messages are sent by the thread that calls, under a lock that gloo's own thread tries again and again without
/// sleeping. Where that one has a real-time priority, the two would wait for each other forever: so the caller gets the
/// same priority while it is in there.
#include <sched.h>

namespace orrery::live::recorder {

inline int helper_priority = 0;  ///< Of gloo's threads; 0: no real-time scheduling.

class Boost {
 public:
  explicit Boost(bool is_wanted = true) : is_on_{is_wanted && helper_priority > 0} {
    if (is_on_) set(SCHED_FIFO, helper_priority);
  }
  ~Boost() {
    if (is_on_) set(SCHED_OTHER, 0);
  }
  Boost(const Boost&) = delete;
  Boost& operator=(const Boost&) = delete;

 private:
  static void set(int policy, int priority) {
    sched_param parameter{};
    parameter.sched_priority = priority;
    ::sched_setscheduler(0, policy, &parameter);  // Of this thread.
  }

  bool is_on_;
};

}  // namespace orrery::live::recorder
