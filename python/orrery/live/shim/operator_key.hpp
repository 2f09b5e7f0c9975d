// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What tells operators apart whose times may differ.
#include <string_view>

#include "torch.hpp"

namespace orrery::live::shim {

/// FNV-1a over the operator's name and its inputs' types, shapes and whether they are contiguous.
class OperatorHash {
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

/// Numbers on their own count only where no tensor tells the size of the work (arange, randperm): elsewhere they say
/// where (select, narrow), and are others each time.
inline std::uint64_t operator_key(const at::RecordFunction& function) {
  OperatorHash hash;
  hash.add(std::string_view{function.name()});
  bool has_tensors = false;
  for (const c10::IValue& input : function.inputs()) {
    if (input.isTensor()) {
      hash.add(input.toTensor());
      has_tensors = true;
    } else if (input.isTensorList()) {
      for (const at::Tensor& tensor : input.toTensorVector()) hash.add(tensor);
      has_tensors = true;
    } else if (input.isIntList()) {
      for (const std::int64_t number : input.toIntVector()) hash.add(number);
    } else if (input.isInt() && !has_tensors) {
      hash.add(input.toInt());
    } else {
      hash.add(std::int64_t{-4});
    }
  }
  return hash.value();
}

}  // namespace orrery::live::shim
