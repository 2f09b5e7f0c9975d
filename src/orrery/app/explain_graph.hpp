// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A workload held in memory, so that it can be looked at from both ends, changed and run again.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "orrery/workload/op.hpp"

namespace orrery::app {

using RankOps = std::vector<std::vector<workload::Op>>;  ///< By rank, in the order of the files.

/// An operation of the graph: its place in its rank's list.
struct OpPlace {
  workload::Rank rank = 0;
  std::uint32_t index = 0;
  bool operator==(const OpPlace&) const = default;
};

[[nodiscard]] bool is_communication(const workload::Op& op);

class ExplainGraph {
 public:
  static constexpr std::uint32_t kNoSite = ~std::uint32_t{0};

  /// Reads all of it. InputError for an id that stands twice, and for an `independent` of what is not waited for.
  explicit ExplainGraph(const workload::Workload& workload);

  [[nodiscard]] workload::Rank ranks() const { return static_cast<workload::Rank>(ops_->size()); }
  [[nodiscard]] const std::vector<workload::Op>& ops(workload::Rank rank) const { return (*ops_)[rank]; }
  [[nodiscard]] const workload::Op& op(OpPlace at) const { return (*ops_)[at.rank][at.index]; }
  [[nodiscard]] const std::shared_ptr<const RankOps>& all() const { return ops_; }
  /// Nothing when the rank has no such operation.
  [[nodiscard]] std::optional<std::uint32_t> find(workload::Rank rank, std::uint64_t id) const;
  /// Places of a rank's operations by ascending id.
  [[nodiscard]] const std::vector<std::uint32_t>& by_id(workload::Rank rank) const { return by_id_[rank]; }

  /// Communication of one name is one site, whichever rank calls it: "all_gather at voltage.py:41".
  [[nodiscard]] const std::vector<std::string>& sites() const { return sites_; }
  [[nodiscard]] std::uint32_t site(OpPlace at) const { return site_of_[at.rank][at.index]; }
  /// Whether anybody looked for independent computing when the trace was written.
  [[nodiscard]] bool has_dataflow() const { return has_dataflow_; }

 private:
  void read(const workload::Workload& workload, RankOps& ops);
  void sort_ids(workload::Rank rank);
  void name_sites();
  void check_independent(workload::Rank rank) const;

  std::shared_ptr<const RankOps> ops_;
  std::vector<std::vector<std::uint32_t>> by_id_;
  std::vector<std::string> sites_;
  std::vector<std::vector<std::uint32_t>> site_of_;
  bool has_dataflow_ = false;
};

/// Whether `op` depends on `id`, directly or by way of nodes that do nothing ("join").
[[nodiscard]] bool builds_on(const ExplainGraph& graph, workload::Rank rank, const workload::Op& op,
                             std::uint64_t id);

}  // namespace orrery::app
