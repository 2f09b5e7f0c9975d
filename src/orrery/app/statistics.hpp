// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What can be said from a few repeats: medians, intervals by resampling, and whether two sets differ.
#include <optional>
#include <vector>

namespace orrery::app {

/// Of an even number, the mean of the middle two. 0 of nothing.
[[nodiscard]] double median(std::vector<double> values);

/// The mean of those that are left without the lowest and the highest fifth, rounded down. 0 of nothing.
[[nodiscard]] double trimmed_mean(std::vector<double> values);

struct Interval {
  double low = 0;
  double high = 0;
};

/// 95 % interval of the median, by 2000 resamples with a fixed seed; a point for one value.
[[nodiscard]] Interval median_interval(const std::vector<double>& values);

/// Of median(a) / median(b) - 1.
[[nodiscard]] Interval ratio_interval(const std::vector<double>& a, const std::vector<double>& b);

/// Two-sided p-value of Mann and Whitney's test that neither of two sets tends to be larger; nothing unless both have
/// three values or more. Exact without ties up to 20 values each, otherwise the normal approximation with correction
/// for ties.
[[nodiscard]] std::optional<double> mann_whitney(const std::vector<double>& a, const std::vector<double>& b);

}  // namespace orrery::app
