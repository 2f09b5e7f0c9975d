// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a calibration measures: real runs of probe.py, as means per operation and size.
#include "orrery/app/calibrate.hpp"
#include "orrery/app/calibrate_notice.hpp"

namespace orrery::app {

/// `operation` as probe.py calls it, `bytes` as it takes them.
struct Probe {
  std::string operation;
  std::int64_t bytes = 0;
  std::int64_t count = 0;
  std::int64_t pause = 0;  ///< What is computed before each, in units of probe.py.
  bool is_held_out = false;
  bool is_of_waking = false;  ///< It is there for its pause.
  std::int64_t late = 0;      ///< By how many microseconds the ranks come late in turn; it is there for that.
  bool overlaps = false;      ///< Computing comes while it is under way instead, and after it, in turn.
};

/// Of the operations of `options.what`, over sizes that the link carries in reasonable time.
[[nodiscard]] std::vector<Probe> plan_probes(const CalibrateOptions& options);

struct ProbeTimes {
  /// The trimmed mean of all launches' calls, in picoseconds, from when all were there to when all were done. A median
  /// would jump between the speeds of a host that has two; a program takes the mean of them. Of calls, not of launches:
  /// one of five in which the host stood still is a fifth of a launch, and would be a mean of its own.
  double mean = 0;
  std::vector<double> means;  ///< Of each launch.
  std::vector<LateCall> late;  ///< Of all launches.
  std::vector<double> stolen;  ///< Of each launch: how much longer computing took beside the operation.
  std::vector<double> gaps;   ///< Of computing: between the barriers.
  std::vector<double> idles;  ///< Of operations: from a rank's last end to its next call.
  double buffered = 0;        ///< Of broadcasts: the share of the time that the root had done before the others.
};

/// As probe.py takes it.
[[nodiscard]] std::string plan_text(const std::vector<Probe>& probes);

/// Measures, or reads what was measured. InputError when that was something else.
[[nodiscard]] std::vector<ProbeTimes> run_probes(const CalibrateOptions& options,
                                                 const std::vector<Probe>& probes,
                                                 std::vector<std::string>& notes);

/// Each operation of `options.what` after pauses from none to tens of milliseconds: a short one, and one whose buffer
/// has left the caches by then.
[[nodiscard]] std::vector<Probe> plan_waking(const CalibrateOptions& options);

/// Exchanges of two ranks that come apart by a tenth of a millisecond or two, short and long ones.
[[nodiscard]] std::vector<Probe> plan_notice(const CalibrateOptions& options);

/// Asynchronous operations beside computing that takes longer than they do.
[[nodiscard]] std::vector<Probe> plan_overlap(const CalibrateOptions& options);

/// The probe as `orrery collective` names it, and the whole buffer of it.
[[nodiscard]] CalibrationPoint point_of(const Probe& probe, std::int64_t ranks);

}  // namespace orrery::app
