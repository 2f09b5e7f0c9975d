// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a device is asked to do: one operator, as much of it as its cost depends on. Standard library only: it is
/// compiled into the processes that run users' programs.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace orrery::device {

/// Operators that use a device alike; efficiencies are given per class.
enum class OperatorClass : std::uint8_t {
  kGemm,
  kAttention,
  kConvolution,
  kElementwise,
  kReduction,  ///< Norms and softmax, too.
  kMemory,     ///< Copies, fills, concatenations.
  kEmbedding,  ///< Everything that reads or writes by index.
  kOptimizer,  ///< Of lists of tensors at once.
  kOther,
  kView,  ///< Nothing but a dispatch.
  kWait,  ///< The host needs a value of the device.
};
inline constexpr std::size_t kCostedClasses = 9;  ///< Up to kOther.

enum class DataType : std::uint8_t { kFp64, kFp32, kTf32, kFp16, kBf16, kFp8, kInt8 };
inline constexpr std::size_t kDataTypes = 7;

inline constexpr std::array<std::string_view, kCostedClasses> kClassNames{
    "gemm", "attention", "conv", "elementwise", "reduction", "memory", "embedding", "optimizer", "other"};
inline constexpr std::array<std::string_view, kDataTypes> kTypeNames{"fp64", "fp32", "tf32", "fp16",
                                                                     "bf16", "fp8",  "int8"};

/// Bytes of one element.
[[nodiscard]] constexpr std::int64_t element_bytes(DataType type) {
  constexpr std::array<std::int64_t, kDataTypes> kBytes{8, 4, 4, 2, 2, 1, 1};
  return kBytes[static_cast<std::size_t>(type)];
}

inline constexpr std::size_t kMostAxes = 6;
/// Sizes that profiled durations are interpolated over; which ones depends on the family (docs/models/device.md).
struct Axes {
  std::array<std::int64_t, kMostAxes> sizes{};
  std::uint32_t count = 0;

  [[nodiscard]] std::int64_t operator[](std::size_t i) const { return sizes[i]; }
  bool operator==(const Axes&) const = default;
};

/// Operations and bytes. Floating point: a product of sizes may be beyond any integer.
struct Work {
  double flops = 0;
  double bytes = 0;
};

struct Operator {
  std::string_view name;    ///< "addmm"
  std::string_view family;  ///< "gemm"; the name itself for most.
  OperatorClass kind = OperatorClass::kOther;
  DataType type = DataType::kFp32;
  Work work;
  double output_bytes = 0;    ///< Of `work.bytes`.
  std::int64_t launches = 1;  ///< Kernels that a device without lists of tensors runs for it.
  Axes axes;
  bool is_known = true;  ///< False: costed as bytes in and out, for want of a rule.
};

}  // namespace orrery::device
