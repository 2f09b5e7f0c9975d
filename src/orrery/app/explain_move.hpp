// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The graph of a program that waits later: what computing needs no communication goes on while it is under way.
#include <cstdint>
#include <memory>
#include <vector>

#include "orrery/app/explain_graph.hpp"

namespace orrery::app {

class ExplainMoves {
 public:
  /// `graph` outlives it and has no cycles.
  explicit ExplainMoves(const ExplainGraph& graph);

  /// Computing B of time T after communication K of a site in `is_moved`, of which `independent` needs no K, becomes
  /// two: B1 (independent and again) waits for all that B waits for but K, B2 (T less independent) for that, K and B1.
  /// Ids are given anew, in the same order.
  [[nodiscard]] std::shared_ptr<const RankOps> moved(const std::vector<bool>& is_moved) const;

  /// What could be gained at the most: nothing waits for the site's communication but the communication that comes
  /// after it.
  [[nodiscard]] std::shared_ptr<const RankOps> freed(std::uint32_t site) const;

 private:
  using Ids = std::vector<std::uint64_t>;
  [[nodiscard]] bool is_split(workload::Rank rank, const workload::Op& op,
                              const std::vector<bool>& is_moved) const;
  [[nodiscard]] Ids without(workload::Rank rank, const Ids& deps, const workload::Op& communication) const;
  [[nodiscard]] std::vector<workload::Op> moved_rank(workload::Rank rank,
                                                     const std::vector<bool>& is_moved) const;
  /// B1 of `op`, with ids as they were but its own.
  [[nodiscard]] workload::Op first_part(workload::Rank rank, const workload::Op& op) const;
  /// What the post waited for, communication of its own site left out.
  [[nodiscard]] Ids posted_after(OpPlace communication) const;
  void free_rank(workload::Rank rank, std::uint32_t site, std::vector<workload::Op>& ops) const;

  const ExplainGraph& graph_;
  std::vector<std::vector<std::vector<std::uint32_t>>> users_;  // By rank and place: who depends on it.
};

}  // namespace orrery::app
