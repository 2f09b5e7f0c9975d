// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a calibration is to measure: the entries that probe.py takes.
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/app/calibrate.hpp"

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
  bool is_alone = false;      ///< In a group of one rank.
  bool overlaps = false;      ///< Computing comes while it is under way instead, and after it, in turn.
};

/// Buffers of so many bytes glibc's malloc maps anew for each call, and their first touches cost more than the call:
/// times have a step here.
inline constexpr std::int64_t kMappedAnew = 1 << 25;

/// Copies into a block that malloc maps anew, and into one that is there.
inline constexpr const char* kFreshCopy = "compute:fresh";
inline constexpr const char* kReusedCopy = "compute:reused";

/// Of the operations of `options.what`, over sizes that the link carries in reasonable time.
[[nodiscard]] std::vector<Probe> plan_probes(const CalibrateOptions& options);

/// Each operation of `options.what` after pauses from none to tens of milliseconds: a short one, and one whose buffer
/// has left the caches by then.
[[nodiscard]] std::vector<Probe> plan_waking(const CalibrateOptions& options);

/// Exchanges of two ranks that come apart by a tenth of a millisecond or two, short and long ones, and what the first
/// touch of new memory adds to a copy.
[[nodiscard]] std::vector<Probe> plan_notice(const CalibrateOptions& options);

/// Each collective of `options.what` in groups of one rank.
[[nodiscard]] std::vector<Probe> plan_alone(const CalibrateOptions& options);

/// Asynchronous operations beside computing that takes longer than they do.
[[nodiscard]] std::vector<Probe> plan_overlap(const CalibrateOptions& options);

/// The probe as `orrery collective` names it, and the whole buffer of it.
[[nodiscard]] CalibrationPoint point_of(const Probe& probe, std::int64_t ranks);

/// As probe.py takes it.
[[nodiscard]] std::string plan_text(const std::vector<Probe>& probes);

}  // namespace orrery::app
