// SPDX-License-Identifier: Apache-2.0
#include "orrery/device/operator_table.hpp"

#include <algorithm>
#include <array>
#include <limits>

#include "orrery/device/families.hpp"
#include "orrery/device/portable_math.hpp"

namespace orrery::device {
namespace {

constexpr std::size_t kTerms = kMostAxes + 1;  // A constant, and a slope per axis.
/// Slopes are drawn to 0 by this much of a point's weight: few points, or points in a row, fix no slope.
constexpr double kRidge = 0.02;
/// A query further than this outside the range of an axis is extrapolated (a factor of 1.1).
constexpr double kMargin = 0.14;

using Place = std::array<double, kMostAxes>;

struct Neighbour {
  double distance = 0;  // Squared.
  std::size_t index = 0;
};

Place place_of(const Axes& axes) {
  Place place{};
  for (std::size_t i = 0; i < axes.count; ++i) {
    place[i] = portable_log2(static_cast<double>(std::max<std::int64_t>(axes[i], 1)));
  }
  return place;
}

/// The axes on which a size is 1.
unsigned ones_of(const Axes& axes) {
  unsigned ones = 0;
  for (std::size_t i = 0; i < axes.count; ++i) ones |= axes[i] == 1 ? 1U << i : 0U;
  return ones;
}

double base_of(const Series& series, const Axes& axes, const Rates& rates) {
  const double ideal =
      roofline_ps(family_work(series.name, axes, series.type), series.kind, series.type, rates);
  return std::max(ideal + static_cast<double>(rates.launch_ps), 1.0);  // 1 where no rates are said.
}

/// Solves the symmetric positive definite system in place; the first unknown.
double solve_first(std::array<std::array<double, kTerms + 1>, kTerms>& rows, std::size_t count) {
  for (std::size_t pivot = 0; pivot < count; ++pivot) {
    for (std::size_t row = pivot + 1; row < count; ++row) {
      const double factor = rows[row][pivot] / rows[pivot][pivot];
      for (std::size_t column = pivot; column < count; ++column) {
        rows[row][column] -= factor * rows[pivot][column];
      }
      rows[row][kTerms] -= factor * rows[pivot][kTerms];
    }
  }
  std::array<double, kTerms> unknown{};
  for (std::size_t row = count; row-- > 0;) {
    double rest = rows[row][kTerms];
    for (std::size_t column = row + 1; column < count; ++column) rest -= rows[row][column] * unknown[column];
    unknown[row] = rest / rows[row][row];
  }
  return unknown[0];
}

/// The neighbours with the smallest distances, the last of which only says how far the others reach.
std::vector<Neighbour> nearest(const Series& series, const Place& at, unsigned ones, std::size_t wanted) {
  std::vector<Neighbour> found;
  for (const bool needs_ones : {true, false}) {
    found.clear();
    for (std::size_t i = 0; i < series.points.size(); ++i) {
      const Axes& axes = series.points[i].axes;
      if (needs_ones && ones_of(axes) != ones) continue;
      const Place place = place_of(axes);
      double distance = 0;
      for (std::size_t axis = 0; axis < axes.count; ++axis) {
        distance += (place[axis] - at[axis]) * (place[axis] - at[axis]);
      }
      found.push_back({.distance = distance, .index = i});
    }
    if (found.size() > wanted / 2) break;
  }
  std::ranges::stable_sort(found, {}, &Neighbour::distance);
  found.resize(std::min(found.size(), wanted));
  return found;
}

bool is_outside(const Series& series, const Place& at, std::uint32_t axes) {
  for (std::size_t axis = 0; axis < axes; ++axis) {
    double low = std::numeric_limits<double>::max();
    double high = std::numeric_limits<double>::lowest();
    for (const Point& point : series.points) {
      const double size = portable_log2(static_cast<double>(std::max<std::int64_t>(point.axes[axis], 1)));
      low = std::min(low, size);
      high = std::max(high, size);
    }
    if (at[axis] < low - kMargin || at[axis] > high + kMargin) return true;
  }
  return false;
}

/// log2 of the ratio to the roofline at `at`: the constant of a weighted linear fit around it.
double fitted_ratio(const Series& series, const Place& at, const std::vector<Neighbour>& near,
                    const Rates& rates, bool has_slopes) {
  std::array<std::array<double, kTerms + 1>, kTerms> rows{};
  const std::uint32_t axes = series.points.front().axes.count;
  const std::size_t count = has_slopes ? axes + 1 : 1;
  const double reach = near.back().distance * 1.1 + 1e-9;
  double total = 0;
  for (const Neighbour& one : near) {
    const Point& point = series.points[one.index];
    const Place place = place_of(point.axes);
    std::array<double, kTerms> terms{1};
    for (std::size_t axis = 0; axis < axes; ++axis) terms[axis + 1] = place[axis] - at[axis];
    const double share = 1 - one.distance / reach;
    const double weight = share * share / (one.distance + 0.01 * reach);
    const double value = portable_log2(point.duration_ps / base_of(series, point.axes, rates));
    for (std::size_t row = 0; row < count; ++row) {
      for (std::size_t column = 0; column < count; ++column) {
        rows[row][column] += weight * terms[row] * terms[column];
      }
      rows[row][kTerms] += weight * terms[row] * value;
    }
    total += weight;
  }
  for (std::size_t row = 1; row < count; ++row) rows[row][row] += kRidge * total;
  return solve_first(rows, count);
}

}  // namespace

void OperatorTable::add(std::string_view name, DataType type, OperatorClass kind, const Point& point) {
  for (Series& one : series_) {
    if (one.type == type && one.name == name) return one.points.push_back(point);
  }
  series_.push_back({.name = std::string{name}, .type = type, .kind = kind, .points = {point}});
}

const Series* OperatorTable::find(std::string_view name, DataType type) const {
  for (const Series& one : series_) {
    if (one.type == type && one.name == name) return &one;
  }
  return nullptr;
}

Estimate interpolate(const Series& series, const Axes& axes, const Rates& rates) {
  const std::size_t wanted = std::size_t{3} * axes.count + 4;
  const Place at = place_of(axes);
  const std::vector<Neighbour> near = nearest(series, at, ones_of(axes), wanted);
  const Point& first = series.points[near.front().index];
  if (near.front().distance == 0) return {.duration_ps = first.duration_ps};
  const bool is_extrapolated = is_outside(series, at, axes.count);
  const double ratio = fitted_ratio(series, at, near, rates, !is_extrapolated);
  return {.duration_ps = portable_exp2(ratio) * base_of(series, axes, rates),
          .is_extrapolated = is_extrapolated};
}

}  // namespace orrery::device
