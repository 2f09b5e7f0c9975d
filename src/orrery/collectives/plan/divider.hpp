// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Division by a number fixed at plan time, as one multiplication: action() is called for every message of a
/// run, and a hardware division would be its largest cost. Exact for all 32-bit values (Lemire, Kaser and
/// Kurz, "Faster remainder by direct computation", 2019).
#include <cstdint>
#include <limits>

#include "orrery/base/check.hpp"

namespace orrery::collectives::plan {

class Divider {
 public:
  explicit Divider(std::uint32_t divisor) : divisor_{divisor} {
    ORRERY_CHECK(divisor > 0, "division by zero");
    // Wraps to 0 for a divisor of 1, which divide() handles apart.
    reciprocal_ = std::numeric_limits<std::uint64_t>::max() / divisor + 1;
  }

  struct Result {
    std::uint32_t quotient;
    std::uint32_t remainder;
  };
  [[nodiscard]] Result divide(std::uint32_t value) const {
    if (divisor_ == 1) return {value, 0};
    __extension__ using Wide = unsigned __int128;
    const auto quotient = static_cast<std::uint32_t>((Wide{reciprocal_} * value) >> 64);
    return {quotient, value - quotient * divisor_};
  }
  [[nodiscard]] std::uint32_t divisor() const { return divisor_; }

 private:
  std::uint32_t divisor_;
  std::uint64_t reciprocal_;
};

}  // namespace orrery::collectives::plan
