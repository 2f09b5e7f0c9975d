// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A rolling 64-bit hash of what happened, in order. Not cryptographic; equal inputs give equal digests anywhere.
#include <cstdint>
#include <string_view>

namespace orrery {

class Digest {
 public:
  constexpr void add(std::uint64_t word) {
    std::uint64_t mixed = (state_ ^ word) * 0x9E3779B97F4A7C15ULL;
    state_ = mixed ^ (mixed >> 29);
  }
  constexpr void add(std::string_view text) {
    for (const char c : text) add(static_cast<std::uint64_t>(static_cast<unsigned char>(c)));
    add(text.size());
  }
  [[nodiscard]] constexpr std::uint64_t value() const { return state_; }
  constexpr bool operator==(const Digest&) const = default;

 private:
  std::uint64_t state_ = 0x6F72726572790001ULL;
};

}  // namespace orrery
