// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tells the rank library which operator of torch runs, so that compute time can be estimated per operator instead of
/// measured each time. Only the outermost operators, only on the thread that began: what they call is part of them.
#include <string_view>
#include <thread>
#include <utility>

#include "cost_observer.hpp"
#include "dataflow_observer.hpp"
#include "operator_key.hpp"
#include "rank.hpp"

namespace orrery::live::shim {

class Observer {
 public:
  /// Begins, if anybody wants to know. The calling thread is the program's.
  static void start() {
    const int wanted = orrery_wants_operators();
    if (is_on_ || wanted == ORRERY_WANTS_NONE) return;
    is_on_ = true;
    if (wanted == ORRERY_WANTS_SHAPES) return CostObserver::start(false);
    is_observed_ = true;
    if (Dataflow::is_on()) DataflowObserver::start();
    at::addGlobalCallback(
        at::RecordFunctionCallback{begin, end}.needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  }

 private:
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    if (!is_observed_ || depth_++ > 0) return nullptr;
    const std::string_view name{function.name()};
    if (name.starts_with("c10d::") || name.starts_with("_c10d_functional::")) return nullptr;
    if (!Pause::is_on()) {
      orrery_operator_enter();
      is_told_ = true;
      orrery_operator_begin(operator_key(function));
    }
    hides_inner_ = !Dataflow::is_on() && !at::hasThreadLocalCallbacks();
    if (hides_inner_) at::enableRecordFunction(false);
    return nullptr;
  }

  static void end(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/) {
    if (!is_observed_ || depth_ == 0 || --depth_ > 0) return;
    if (std::exchange(hides_inner_, false)) at::enableRecordFunction(true);
    if (std::exchange(is_told_, false)) orrery_operator_end();
  }

  static inline bool is_on_ = false;
  static inline thread_local bool is_observed_ = false;
  static inline thread_local bool is_told_ = false;
  /// What the outermost operator calls is nobody's business, so it is not slowed by being announced: a look into each
  /// costs about as much as the smallest operators do. Not where the program profiles itself.
  static inline thread_local bool hides_inner_ = false;
  static inline thread_local int depth_ = 0;
};

}  // namespace orrery::live::shim
