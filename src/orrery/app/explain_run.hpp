// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One pass of operations over a cluster, as `orrery replay` makes it, and when each of them began and ended.
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "orrery/app/explain_graph.hpp"
#include "orrery/app/replay_plan.hpp"

namespace orrery::app {

/// Of one operation. Begins and ends are numbered as they happened: within an instant, too, it is known what was first.
struct OpTimes {
  Time begin{};
  Time end{};
  std::uint64_t began = 0;
  std::uint64_t ended = 0;
  workload::Resource resource = workload::Resource::kNothing;
};

struct ExplainRun {
  std::int64_t total_ps = 0;
  std::vector<Time> finish;                 ///< By rank.
  std::vector<std::vector<OpTimes>> times;  ///< By rank and place; empty unless asked for.
  std::uint64_t operations = 0;
  std::uint64_t digest = 0;
  std::vector<std::string> notes;

  [[nodiscard]] const OpTimes& of(OpPlace at) const { return times[at.rank][at.index]; }
};

class ExplainRunner {
 public:
  /// Both outlive it.
  ExplainRunner(const ReplayPlan& plan, const ReplayOptions& options);
  /// The graph as it is, with the times of all operations.
  [[nodiscard]] ExplainRun run(const ExplainGraph& graph) const;
  /// Other operations; the total is what matters.
  [[nodiscard]] ExplainRun run(std::shared_ptr<const RankOps> ops) const;

 private:
  [[nodiscard]] ExplainRun run(std::shared_ptr<const RankOps> ops, workload::OpRecorder* recorder) const;

  const ReplayPlan& plan_;
  const ReplayOptions& options_;
};

}  // namespace orrery::app
