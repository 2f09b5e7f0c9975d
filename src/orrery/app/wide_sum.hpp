// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A sum of 64-bit numbers that does not overflow: a training step of a large model has more than 2^64 operations.
#include <compare>
#include <cstdint>
#include <string>

namespace orrery::app {

class WideSum {
 public:
  constexpr WideSum() = default;
  constexpr explicit WideSum(std::uint64_t value) : low_{value} {}
  constexpr WideSum& operator+=(std::uint64_t value) {
    low_ += value;
    if (low_ < value) ++high_;
    return *this;
  }
  constexpr WideSum& operator+=(const WideSum& other) {
    *this += other.low_;
    high_ += other.high_;
    return *this;
  }
  constexpr auto operator<=>(const WideSum&) const = default;
  [[nodiscard]] constexpr bool fits() const { return high_ == 0; }
  /// Its low 64 bits.
  [[nodiscard]] constexpr std::uint64_t low() const { return low_; }
  [[nodiscard]] constexpr double to_double() const {
    constexpr double kTwoToThe64 = 18446744073709551616.0;
    return static_cast<double>(high_) * kTwoToThe64 + static_cast<double>(low_);
  }

 private:
  std::uint64_t high_ = 0;  // Compared first.
  std::uint64_t low_ = 0;
};

}  // namespace orrery::app
