// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <numeric>

#include "orrery/base/rng.hpp"

namespace orrery::app {
namespace {

constexpr std::size_t kResamples = 2000;
constexpr double kTail = 0.025;
constexpr std::size_t kExactMost = 20;
constexpr std::size_t kLeast = 3;

/// `draw(i)` is the statistic of the i-th resample.
Interval middle_of(const std::function<double()>& draw) {
  std::vector<double> values(kResamples);
  for (double& value : values) value = draw();
  std::ranges::sort(values);
  const auto at = [&](double share) {
    return values[static_cast<std::size_t>(share * static_cast<double>(kResamples - 1))];
  };
  return {.low = at(kTail), .high = at(1 - kTail)};
}

double resampled_median(const std::vector<double>& values, Rng& rng) {
  std::vector<double> drawn(values.size());
  for (double& value : drawn) {
    value = values[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(values.size()) - 1))];
  }
  return median(std::move(drawn));
}

/// In how many ways `m` of m + n ranks can exceed the others `u` times in all, as shares of all ways.
std::vector<double> exact_shares(std::size_t m, std::size_t n) {
  // ways[i][u]: of the first i + j ranks, built up one value of the second set at a time.
  std::vector<std::vector<double>> ways(m + 1, std::vector<double>(m * n + 1, 0.0));
  ways[0][0] = 1;
  for (std::size_t rank = 0; rank < m + n; ++rank) {
    for (std::size_t i = std::min(m, rank + 1); i >= 1; --i) {
      // The rank-th value belongs to the first set and stands above rank - (i - 1) of the second.
      const std::size_t above = rank - (i - 1);
      if (above > n) continue;
      for (std::size_t u = above; u <= m * n; ++u) ways[i][u] += ways[i - 1][u - above];
    }
  }
  double all = 0;
  for (const double count : ways[m]) all += count;
  for (double& count : ways[m]) count /= all;
  return ways[m];
}

}  // namespace

double trimmed_mean(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const auto cut = static_cast<std::ptrdiff_t>(values.size() / 5);
  const double sum = std::accumulate(values.begin() + cut, values.end() - cut, 0.0);
  return sum / static_cast<double>(static_cast<std::ptrdiff_t>(values.size()) - 2 * cut);
}

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  std::ranges::sort(values);
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

Interval median_interval(const std::vector<double>& values) {
  if (values.size() < 2) return {median(values), median(values)};
  Rng rng{0, "compare", "resample"};
  return middle_of([&] { return resampled_median(values, rng); });
}

Interval ratio_interval(const std::vector<double>& a, const std::vector<double>& b) {
  Rng rng{0, "compare", "resample"};
  return middle_of([&] {
    const double below = resampled_median(b, rng);
    const double above = resampled_median(a, rng);
    return below == 0 ? 0 : above / below - 1;
  });
}

std::optional<double> mann_whitney(const std::vector<double>& a, const std::vector<double>& b) {
  if (a.size() < kLeast || b.size() < kLeast) return {};
  double u = 0;
  bool has_ties = false;
  for (const double x : a) {
    for (const double y : b) {
      u += x > y ? 1.0 : x == y ? 0.5 : 0.0;
      has_ties = has_ties || x == y;
    }
  }
  const auto m = static_cast<double>(a.size());
  const auto n = static_cast<double>(b.size());
  if (!has_ties && a.size() <= kExactMost && b.size() <= kExactMost) {
    const std::vector<double> shares = exact_shares(a.size(), b.size());
    const double least = std::min(u, m * n - u);
    double tail = 0;
    for (std::size_t i = 0; i <= static_cast<std::size_t>(least); ++i) tail += shares[i];
    return std::min(1.0, 2 * tail);
  }
  std::vector<double> all = a;
  all.insert(all.end(), b.begin(), b.end());
  std::ranges::sort(all);
  double ties = 0;
  for (std::size_t i = 0; i < all.size();) {
    std::size_t j = i;
    while (j < all.size() && all[j] == all[i]) ++j;
    const auto count = static_cast<double>(j - i);
    ties += count * count * count - count;
    i = j;
  }
  const double total = m + n;
  const double variance = m * n / 12 * (total + 1 - ties / (total * (total - 1)));
  if (variance <= 0) return 1.0;
  const double distance = std::max(0.0, std::abs(u - m * n / 2) - 0.5);
  return std::erfc(distance / std::sqrt(2 * variance));
}

}  // namespace orrery::app
