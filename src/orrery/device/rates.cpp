// SPDX-License-Identifier: Apache-2.0
#include "orrery/device/rates.hpp"

#include <algorithm>

namespace orrery::device {

double roofline_ps(const Work& work, double peak, double bandwidth) {
  constexpr double kPsPerSecond = 1e12;
  const double computing = work.flops > 0 && peak > 0 ? work.flops / peak : 0;
  const double moving = work.bytes > 0 && bandwidth > 0 ? work.bytes / bandwidth : 0;
  return std::max(computing, moving) * kPsPerSecond;
}

double roofline_ps(const Work& work, OperatorClass kind, DataType type, const Rates& rates) {
  const std::size_t row = std::min(static_cast<std::size_t>(kind), kCostedClasses - 1);
  const bool is_cached = rates.cache_bandwidth > 0 && work.bytes <= rates.cache;
  const double bandwidth = is_cached ? rates.cache_bandwidth : rates.bandwidth;
  return roofline_ps(work, rates.peak[static_cast<std::size_t>(type)] * rates.compute_efficiency[row],
                     bandwidth * rates.memory_efficiency[row]);
}

}  // namespace orrery::device
