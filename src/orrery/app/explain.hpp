// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery explain` as a call: where the time of a workload goes, and what overlapping would save.
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/app/explain_exposure.hpp"
#include "orrery/app/explain_overlap.hpp"
#include "orrery/app/explain_path.hpp"
#include "orrery/app/replay.hpp"
#include "orrery/app/replay_plan.hpp"

namespace orrery::app {

struct ExplainOptions {
  ReplayOptions replay{};    ///< Trace, cluster and how; it writes no files.
  std::int64_t top = 10;     ///< Steps of the path in the result, rows shown, and sites that are tried.
  bool is_complete = false;  ///< All of them.
  std::string output{};      ///< File for the JSON, or "".
};

struct ExplainResult {
  std::int64_t total_ps = 0;
  std::string workload;
  std::string cluster;
  std::string network;
  std::string algorithm;
  std::string compute;
  std::uint32_t ranks = 0;
  std::uint64_t operations = 0;
  std::vector<std::string> sites;  ///< What OverlapSite and ExposedSite number.
  CriticalPath path;               ///< Of its steps the longest `top`, in the order of time.
  std::uint64_t path_steps = 0;    ///< All of them.
  std::vector<ExposedSite> exposed;
  Overlap overlap;
  std::vector<std::string> notes;
  std::vector<std::string> files;  ///< Written.
  std::size_t shown = 0;           ///< Rows of a table.
  double wall_seconds = 0;         ///< Not in any file.
  timeline::Manifest manifest;
};

/// InputError, SimulationError, engine::Interrupted. The file appears whole or not at all.
[[nodiscard]] ExplainResult explain(const ExplainOptions& options);
/// Likewise, of a plan; writes nothing.
[[nodiscard]] ExplainResult explain(const ReplayPlan& plan, const ExplainOptions& options);
/// {"total_ps", "critical_path": {...}, "exposed": [...], "overlap": {...}, ...}, with a final newline.
[[nodiscard]] std::string to_json(const ExplainResult& result);

}  // namespace orrery::app
