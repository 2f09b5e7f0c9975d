// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Tells the rank library which operator of torch runs, so that compute time can be estimated per operator instead of
/// measured each time. Only the outermost operators, only on the thread that began: what they call is part of them.
#include <string_view>
#include <thread>

#include "cost_observer.hpp"
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
    at::addGlobalCallback(
        at::RecordFunctionCallback{begin, end}.needsInputs(true).scopes({at::RecordScope::FUNCTION}));
  }

 private:
  static std::unique_ptr<at::ObserverContext> begin(const at::RecordFunction& function) {
    if (is_observed_ && depth_++ == 0 && !Pause::is_on()) {
      const std::string_view name{function.name()};
      is_told_ = !name.starts_with("c10d::") && !name.starts_with("_c10d_functional::");
      if (is_told_) orrery_operator_begin(key_of(function));
    }
    return nullptr;
  }

  static void end(const at::RecordFunction& /*function*/, at::ObserverContext* /*context*/) {
    if (!is_observed_ || depth_ == 0 || --depth_ > 0 || !is_told_) return;
    is_told_ = false;
    orrery_operator_end();
  }

  /// FNV-1a over the operator's name and its inputs' types, shapes and whether they are contiguous.
  class Hash {
   public:
    void add(std::string_view text) {
      for (const char letter : text) add_byte(static_cast<unsigned char>(letter));
      add_byte(0);
    }
    void add(std::int64_t number) {
      value_ = (value_ ^ static_cast<std::uint64_t>(number)) * kPrime;
      value_ ^= value_ >> 32;
    }
    void add(const at::Tensor& tensor) {
      if (!tensor.defined()) return add(std::int64_t{-1});
      add(static_cast<std::int64_t>(tensor.scalar_type()));
      if (tensor.layout() != at::kStrided) return add(static_cast<std::int64_t>(tensor.layout()));
      for (const std::int64_t size : tensor.sizes()) add(size);
      add(std::int64_t{tensor.is_contiguous() ? -2 : -3});
    }
    std::uint64_t value() const { return value_; }

   private:
    static constexpr std::uint64_t kPrime = 0x100000001b3;
    void add_byte(unsigned char byte) { value_ = (value_ ^ byte) * kPrime; }
    std::uint64_t value_ = 0xcbf29ce484222325;
  };

  static std::uint64_t key_of(const at::RecordFunction& function) {
    Hash hash;
    hash.add(std::string_view{function.name()});
    for (const c10::IValue& input : function.inputs()) {
      if (input.isTensor()) {
        hash.add(input.toTensor());
      } else if (input.isTensorList()) {
        for (const at::Tensor& tensor : input.toTensorVector()) hash.add(tensor);
      } else {
        hash.add(std::int64_t{-4});
      }
    }
    return hash.value();
  }

  static inline bool is_on_ = false;
  static inline thread_local bool is_observed_ = false;
  static inline thread_local bool is_told_ = false;
  static inline thread_local int depth_ = 0;
};

}  // namespace orrery::live::shim
