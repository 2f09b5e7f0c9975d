// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/operation_costs.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace orrery::topology {

Duration cost_at(const CostCurve& curve, Bytes size) {
  if (curve.empty()) return {};
  if (curve.size() == 1 || size <= curve.front().size) return curve.front().time;
  const auto above = std::ranges::find_if(curve, [&](const CostPoint& point) { return point.size >= size; });
  const bool is_beyond = above == curve.end();
  const CostPoint& to = is_beyond ? curve.back() : *above;
  const CostPoint& from = *(&to - 1);
  const double slope =
      static_cast<double>(count_ps(to.time - from.time)) / static_cast<double>((to.size - from.size).count());
  const double time =
      static_cast<double>(count_ps(to.time)) +
      (is_beyond ? std::max(0.0, slope) : slope) * static_cast<double>((size - to.size).count());
  return Duration{std::llround(time)};
}

const CostCurve* find_curve(const OperationCosts& costs, std::string_view operation) {
  const CostCurve* found = nullptr;
  OperationCosts::fields([&](const char* name, auto member, const char*) {
    if (operation == name) found = &(costs.*member);
  });
  return found;
}

CostCurve* find_curve(OperationCosts& costs, std::string_view operation) {
  return const_cast<CostCurve*>(find_curve(std::as_const(costs), operation));
}

}  // namespace orrery::topology
