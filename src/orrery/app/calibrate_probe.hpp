// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a calibration measures: real runs of probe.py, as means per operation and size.
#include "orrery/app/calibrate.hpp"
#include "orrery/app/calibrate_notice.hpp"
#include "orrery/app/calibrate_plan.hpp"

namespace orrery::app {

struct ProbeTimes {
  /// Of each launch the trimmed mean of its calls, in picoseconds, from when all were there to when all were done. A
  /// median would jump between the speeds of a host that has two; a program takes the mean of them.
  std::vector<double> means;
  /// The median of those: now and then all of a launch's large transfers take twice as long.
  double mean = 0;
  std::vector<LateCall> late;  ///< Of all launches.
  std::vector<double> stolen;  ///< Of each launch: how much longer computing took beside the operation.
  std::vector<double> gaps;   ///< Of computing: between the barriers.
  std::vector<double> idles;  ///< Of operations: from a rank's last end to its next call.
  double buffered = 0;        ///< Of broadcasts: the share of the time that the root had done before the others.
};

/// Measures, or reads what was measured. InputError when that was something else.
[[nodiscard]] std::vector<ProbeTimes> run_probes(const CalibrateOptions& options,
                                                 const std::vector<Probe>& probes,
                                                 std::vector<std::string>& notes);

}  // namespace orrery::app
