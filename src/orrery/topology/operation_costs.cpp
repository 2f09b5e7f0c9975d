// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/operation_costs.hpp"

#include <algorithm>
#include <cmath>

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
  constexpr double kMost = 1e18;  // Twelve days: a steep end and a huge buffer are no reason to overflow.
  return Duration{std::llround(std::min(time, kMost))};
}

Duration wake_at(const WakeCurve& curve, Duration idle, Bytes size) {
  constexpr double kMebibyte = 1 << 20;
  const double mebibytes = static_cast<double>(std::min(size, kColdest).count()) / kMebibyte;
  const auto time_of = [&](const WakePoint& point) {
    return point.time + Duration{std::llround(mebibytes * static_cast<double>(count_ps(point.per_mib)))};
  };
  const auto above = std::ranges::find_if(curve, [&](const WakePoint& point) { return point.idle >= idle; });
  if (curve.empty()) return {};
  if (above == curve.begin()) return time_of(curve.front());
  if (above == curve.end()) return time_of(curve.back());
  const WakePoint& from = *(above - 1);
  const double share = static_cast<double>(count_ps(idle - from.idle)) /
                       static_cast<double>(count_ps(above->idle - from.idle));
  const Duration least = time_of(from);
  return least + Duration{std::llround(share * static_cast<double>(count_ps(time_of(*above) - least)))};
}

}  // namespace orrery::topology
