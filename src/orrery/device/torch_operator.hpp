// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Operators of torch, by name and shapes, as work for a device. Standard library only; the bridge to torch tells what
/// it sees in terms of this.
#include <cstdint>
#include <span>
#include <string_view>

#include "orrery/device/operator.hpp"

namespace orrery::device {

/// A tensor that goes in or comes out.
struct TensorShape {
  std::span<const std::int64_t> sizes;
  std::uint32_t type = 6;      ///< c10::ScalarType; 6 is float.
  std::int64_t element = 4;    ///< Bytes of one.
  std::uint32_t argument = 0;  ///< Which argument; tensors of a list have the same.
  bool is_dense = true;        ///< Elements lie in order, without gaps.
  std::int64_t distinct = 0;   ///< Elements in memory: fewer than the sizes say where it is expanded.
};

struct TorchCall {
  std::string_view name;  ///< "aten::addmm"
  std::span<const TensorShape> inputs{};
  std::span<const TensorShape> outputs{};
  bool flag = false;         ///< Its first argument of type bool (is_causal, transposed).
  bool allows_tf32 = false;  ///< Products of fp32 may be rounded to tf32.
};

/// Elements of a shape.
[[nodiscard]] std::int64_t elements_of(const TensorShape& shape);

[[nodiscard]] Operator classify(const TorchCall& call);

}  // namespace orrery::device
