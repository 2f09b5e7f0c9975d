// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What is known of the durations behind one key. Noise on a host is one-sided: something else only ever makes a
/// piece of work slower, so the low end of many repetitions is what the work itself costs, and repeats from run to
/// run. Nanoseconds.
#include <array>
#include <cstddef>
#include <cstdint>

namespace orrery::live {

/// The low end of all values so far: the smallest at first, the fourth smallest of many, so that one freak does
/// not decide for ever.
class LowEnd {
 public:
  void add(std::int64_t value);
  [[nodiscard]] std::uint32_t count() const { return count_; }
  /// count() > 0.
  [[nodiscard]] std::int64_t value() const;

 private:
  static constexpr std::size_t kKept = 4;
  static constexpr std::uint32_t kPerRank = 16;  ///< So many values for each step away from the smallest.
  std::array<std::int64_t, kKept> smallest_{};
  std::uint32_t count_ = 0;
};

/// The median of the last values.
class RecentMedian {
 public:
  void add(std::int64_t value);
  [[nodiscard]] std::uint32_t count() const { return count_; }
  /// count() > 0.
  [[nodiscard]] std::int64_t value() const { return median_; }

 private:
  static constexpr std::size_t kKept = 31;
  std::array<std::int64_t, kKept> recent_{};
  std::int64_t median_ = 0;
  std::uint32_t count_ = 0;
};

}  // namespace orrery::live
