// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Profiled durations of operators, and what lies between them. Standard library only.
///
/// A series holds the points of one operator (or family) and data type: sizes and a duration each. What is interpolated
/// is not the duration but its ratio to the roofline, which changes slowly: log2 of it, over log2 of the sizes, by a
/// linear fit to the nearest points, near ones weighing more (local regression). Sizes of 1 are a case of their own,
/// as kernels are (vectors, single rows). A query outside of what was profiled takes the nearest ratios and is told
/// as extrapolated. W. Cleveland, S. Devlin, "Locally weighted regression", JASA 83(403), 1988.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/device/rates.hpp"

namespace orrery::device {

struct Point {
  Axes axes;
  double duration_ps = 0;
};

struct Series {
  std::string name;  ///< Operator or family.
  DataType type = DataType::kFp32;
  OperatorClass kind = OperatorClass::kOther;
  std::vector<Point> points;
};

class OperatorTable {
 public:
  /// Adds a point; points of one series have the same number of axes, sizes and durations are positive.
  void add(std::string_view name, DataType type, OperatorClass kind, const Point& point);
  [[nodiscard]] bool empty() const { return series_.empty(); }
  [[nodiscard]] const std::vector<Series>& series() const { return series_; }
  /// Null when there is none.
  [[nodiscard]] const Series* find(std::string_view name, DataType type) const;

 private:
  std::vector<Series> series_;
};

struct Estimate {
  double duration_ps = 0;
  bool is_extrapolated = false;
};

/// From a series with points.
[[nodiscard]] Estimate interpolate(const Series& series, const Axes& axes, const Rates& rates);

}  // namespace orrery::device
