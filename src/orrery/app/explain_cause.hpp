// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Why an operation began when it did, and whom its end waited for.
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "orrery/app/explain_graph.hpp"
#include "orrery/app/explain_run.hpp"

namespace orrery::app {

class ExplainCauses {
 public:
  /// Both outlive it.
  ExplainCauses(const ExplainGraph& graph, const ExplainRun& run, Bytes eager_limit);

  /// The operation of the same rank whose end let it begin: what it depends on, else what held its stream, else
  /// whatever ended then. Nothing when it began on its own.
  [[nodiscard]] std::optional<OpPlace> released_by(OpPlace at) const;
  /// Of communication: the call that came last of those its end waited for; its own when nobody's came later. Bytes
  /// were under way from there on.
  [[nodiscard]] OpPlace last_to_come(OpPlace at) const;
  /// What ended last before it began, of any rank.
  [[nodiscard]] std::optional<OpPlace> last_before(OpPlace at) const;
  /// Of the rank's operations, that which ended last of those its end waits for; nothing for an empty rank.
  [[nodiscard]] std::optional<OpPlace> last_of(workload::Rank rank) const;

  [[nodiscard]] const ExplainGraph& graph() const { return graph_; }
  [[nodiscard]] const ExplainRun& run() const { return run_; }

 private:
  void match();
  void sort_ends();
  [[nodiscard]] std::optional<OpPlace> released_by_dependency(OpPlace at) const;

  const ExplainGraph& graph_;
  const ExplainRun& run_;
  Bytes eager_limit_;
  std::vector<std::vector<std::uint32_t>> meeting_of_;  // By rank and place; kNoMeeting when it meets nobody.
  std::vector<std::vector<OpPlace>>
      meetings_;  // Calls of one collective, or a send and its receive, as they came.
  std::vector<std::vector<std::uint32_t>> by_end_;  // Places of a rank, as they ended.
};

}  // namespace orrery::app
