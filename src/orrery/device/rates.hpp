// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a device can do, and the roofline over it:
///
///   max(flops / (peak(type) * efficiency(class)), bytes / (bandwidth * efficiency(class))) + launch overhead
///
/// in picoseconds. S. Williams, A. Waterman, D. Patterson, "Roofline: an insightful visual performance model for
/// multicore architectures", CACM 52(4), 2009. Valid where operators are large against what they share a device
/// with; small ones are the launch overhead. Standard library only.
#include <array>
#include <cstdint>

#include "orrery/device/operator.hpp"

namespace orrery::device {

struct Rates {
  std::array<double, kDataTypes> peak{};  ///< Operations per second, dense; 0 = not said.
  double bandwidth = 0;                   ///< Bytes per second of the device's memory; 0 = not said.
  double cache = 0;                       ///< Bytes; operators that touch no more run at
  double cache_bandwidth = 0;             ///< this many per second. 0: no such cache.
  std::array<double, kCostedClasses> compute_efficiency{1, 1, 1, 1, 1, 1, 1, 1, 1};
  std::array<double, kCostedClasses> memory_efficiency{1, 1, 1, 1, 1, 1, 1, 1, 1};
  std::int64_t launch_ps = 0;    ///< Of every kernel, on the device.
  std::int64_t host_ps = 0;      ///< Of every operator, on the host.
  std::int64_t memory = 0;       ///< Bytes; 0 = not said.
  bool is_asynchronous = false;  ///< The host launches, the device works through a queue.
  bool fuses = false;            ///< Consecutive elementwise operators run as one.
};

/// max(flops / peak, bytes / bandwidth) in picoseconds; a rate of 0 leaves its part out. The one formula behind all
/// rooflines here.
[[nodiscard]] double roofline_ps(const Work& work, double peak, double bandwidth);

/// The roofline without launch overhead.
[[nodiscard]] double roofline_ps(const Work& work, OperatorClass kind, DataType type, const Rates& rates);

}  // namespace orrery::device
