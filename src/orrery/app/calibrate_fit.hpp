// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The values of a cluster file whose simulation comes nearest to what was measured.
#include "orrery/app/calibrate.hpp"

namespace orrery::app {

/// In seconds and bytes per second. Nothing of what a cluster file cannot say.
struct ClusterValues {
  double operation = 20e-6;  ///< operation_overhead
  double message = 5e-6;     ///< send_overhead and receive_overhead
  double latency = 10e-6;
  double bandwidth = 1e9;
  double reduce = 5e9;
  double copy = 5e9;
  double compute_scale = 1;
  bool is_half_duplex = false;
};

/// The cluster file, without comments.
[[nodiscard]] std::string cluster_text(const ClusterValues& values, const std::string& name,
                                       std::int64_t ranks);

/// Simulates all points with these values and fills in `simulated_ps`.
void simulate_points(const ClusterValues& values, std::int64_t ranks, std::vector<CalibrationPoint>& points,
                     const std::function<bool()>& wants_stop);

/// Minimises the mean of |log(simulated / measured)| over the points that are not held out: an outlier counts once, not
/// squared. Multiplicative pattern search from several begins; the same points give the same values.
[[nodiscard]] ClusterValues fit_values(ClusterValues start, std::int64_t ranks,
                                       std::vector<CalibrationPoint>& points,
                                       const std::function<bool()>& wants_stop);

/// How much longer real ranks compute than simulated ones on such a cluster: reference.py both ways. Each size of it
/// goes to `result.slowdown`; their geometric mean is the scale.
[[nodiscard]] double compute_scale(const CalibrateOptions& options, const ClusterValues& values,
                                   Calibration& result);

}  // namespace orrery::app
