// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The values of a cluster file, each from the measurements that show it: the link from messages, and what an operation
/// costs the host from that operation.
#include <cstdint>
#include <map>

#include "orrery/app/calibrate.hpp"
#include "orrery/topology/operation_costs.hpp"

namespace orrery::app {

/// In seconds and bytes per second.
struct ClusterValues {
  double latency = 0;
  double bandwidth = 1e9;
  double compute_scale = 1;
  std::int64_t send_buffer = 0;  ///< Bytes.
  std::int64_t burst = 0;        ///< Bytes.
  topology::OperationCosts costs;
  topology::WakeCosts wakes;
  topology::OperationCosts alone;
  topology::OperationCosts overlaps;
  topology::OperationCosts notices;  ///< Beside the latency.
};

/// The cluster file, without comments.
[[nodiscard]] std::string cluster_text(const ClusterValues& values, const std::string& name,
                                       std::int64_t ranks);

/// The same in a file of `folder`; returns its path.
[[nodiscard]] std::string write_candidate(const ClusterValues& values, std::int64_t ranks,
                                          const std::string& folder);

/// From the points that are not held out. Bandwidth: the least slope between long messages. Latency: the shortest time
/// of a message beside that, with or without a pause, never negative. Waking: how much longer an operation takes
/// after a pause than without one, or than its simulation where that is longer, never less after a longer pause. Costs:
/// what each measured time is above waking and its simulation without any, never negative. Fills in `simulated_ps`.
/// `depth`: of the token bucket that limits the link; 0: there is none.
[[nodiscard]] ClusterValues fit_values(std::int64_t ranks, std::vector<CalibrationPoint>& points,
                                       const std::vector<WakingPoint>& waking,
                                       const std::function<bool()>& wants_stop, std::int64_t depth = 0);

/// By size, never less for a longer one.
[[nodiscard]] topology::OperationCosts rising_curves(std::vector<SizedTime> points);

/// What a connection takes from a sender at once: of broadcasts of such sizes, each with the share of its time that was
/// left when its root had done. Zero where that is next to nothing: the sender is as slow as the link.
[[nodiscard]] std::int64_t send_buffer_of(const std::map<std::int64_t, double>& left);

/// Half of the range between launches, in the median of the points.
[[nodiscard]] double spread_over(const std::vector<CalibrationPoint>& points);
/// What to say of launches that differ more than on a host that does nothing else; "" when they do not.
[[nodiscard]] std::string disagreement(const std::vector<CalibrationPoint>& points);

/// How much longer real ranks compute than simulated ones on such a cluster: reference.py both ways. Each size of it
/// goes to `result.slowdown`; the scale is the median of all, or 1 where it cannot be told from that.
[[nodiscard]] double compute_scale(const CalibrateOptions& options, const ClusterValues& values,
                                   Calibration& result);

}  // namespace orrery::app
