// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a process asks for. Opaque to the engine: the service above it gives the numbers their meaning, and
/// anything larger than a few words (tensors, names) travels by other ways. Standard library only, because
/// programs that run outside the engine include it.
#include <array>
#include <cstddef>
#include <cstdint>

namespace orrery::engine {

struct Call {
  static constexpr std::size_t kArguments = 6;

  std::uint32_t operation = 0;
  std::array<std::int64_t, kArguments> arguments{};
  bool operator==(const Call&) const = default;
};

}  // namespace orrery::engine
