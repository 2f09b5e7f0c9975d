// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Shows the program's outermost operators to Dataflow.
#include "dataflow.hpp"
#include "operator_key.hpp"

namespace orrery::live::shim {

class DataflowObserver {
 public:
  /// The calling thread is the program's.
  static void start() {
    is_observed_ = true;
    at::addGlobalCallback(at::RecordFunctionCallback{begin, end}.needsInputs(true).needsOutputs(true).scopes(
        {at::RecordScope::FUNCTION}));
  }

 private:
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    if (!is_observed_ || depth_++ > 0 || Pause::is_on()) return nullptr;
    const std::string_view name{function.name()};
    if (name.starts_with("c10d::") || name.starts_with("_c10d_functional::")) return nullptr;
    return Dataflow::instance().begin(function, operator_key(function));
  }

  static void end(const at::RecordFunction& function, at::ObserverContext* context) {
    if (!is_observed_ || depth_ == 0) return;
    --depth_;
    if (context != nullptr) Dataflow::instance().end(function, static_cast<Dataflow::Context&>(*context));
  }

  static inline thread_local bool is_observed_ = false;
  static inline thread_local int depth_ = 0;
};

}  // namespace orrery::live::shim
