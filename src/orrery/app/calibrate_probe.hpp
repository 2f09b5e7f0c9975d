// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a calibration measures: real runs of probe.py, as medians per operation and size.
#include "orrery/app/calibrate.hpp"

namespace orrery::app {

/// `operation` as probe.py calls it, `bytes` as it takes them.
struct Probe {
  std::string operation;
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  bool is_held_out = false;
};

/// Of the operations of `options.what`, over sizes that the link carries in reasonable time.
[[nodiscard]] std::vector<Probe> plan_probes(const CalibrateOptions& options);

struct ProbeTimes {
  std::vector<double>
      medians;  ///< Of each launch, in picoseconds: from when all were there to when all were done.
  std::vector<double> gaps;  ///< Of computing: between the barriers.
};

[[nodiscard]] std::vector<ProbeTimes> run_probes(const CalibrateOptions& options,
                                                 const std::vector<Probe>& probes,
                                                 std::vector<std::string>& notes);

/// The probe as `orrery collective` names it, and the whole buffer of it.
[[nodiscard]] CalibrationPoint point_of(const Probe& probe, std::int64_t ranks);

}  // namespace orrery::app
