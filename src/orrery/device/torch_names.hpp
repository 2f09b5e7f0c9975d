// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What torch's operators are, by name. Standard library only.
#include <cstdint>
#include <string_view>

#include "orrery/device/operator.hpp"

namespace orrery::device {

/// How operations and bytes follow from the shapes.
enum class WorkRule : std::uint8_t {
  kNothing,    ///< Views, metadata, memory that nobody has written.
  kProduct,    ///< Of two matrices (or batches of them): the first two inputs.
  kProductOn,  ///< Likewise, on top of the first input: the second and the third.
  kAttention,
  kConvolution,
  kConvolutionBackward,
  kStream,     ///< Everything in and out, once.
  kOverwrite,  ///< Likewise, but the first input is not read.
  kGather,     ///< What is read is as large as what comes out; other inputs but the first are read.
  kScatter,    ///< Into the first input: as much of it is written as there is in the last one.
  kList,       ///< Lists of tensors; the first one is written when nothing comes out.
  kFusedStep,  ///< A whole optimizer: lists of parameters, gradients and states.
};

struct TorchName {
  std::string_view name;  ///< Without "aten::" and the underscore of operators in place.
  OperatorClass kind;
  WorkRule rule;
  std::string_view family{};  ///< Its own name when empty.
};

/// Null when the name says nothing to us.
[[nodiscard]] const TorchName* find_torch_name(std::string_view name);

/// Of operators that torch puts together from others where there is no kernel of their own: whether GPUs have one.
[[nodiscard]] bool is_fused_kernel(std::string_view name);

/// "aten::add_" as "add".
[[nodiscard]] std::string_view plain_name(std::string_view name);

}  // namespace orrery::device
