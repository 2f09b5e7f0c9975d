// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Results of ASTRA-sim's files: its cycles, and beside them what another network makes of the same run.
#include <optional>
#include <string>
#include <vector>

#include "orrery/app/astra_replay.hpp"
#include "orrery/app/replay.hpp"

namespace orrery::app {

struct AstraComparison {
  AstraReplayResult astra;
  std::optional<ReplayResult> native{};  ///< The same workload on the real graph.
  std::vector<std::string> command{};
};

/// `options.astra` is set. A network other than astra_aware and astra_unaware (or "") is simulated too.
[[nodiscard]] AstraComparison compare_astra(const ReplayOptions& options);
/// {"cycles", "ranks": [{"rank", "cycles", "exposed_cycles", ...}], "warnings", "native": {...}, "manifest"}.
[[nodiscard]] std::string to_json(const AstraComparison& comparison);

}  // namespace orrery::app
