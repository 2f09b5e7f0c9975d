// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The nodes of one rank as a graph: what depends on what, and an order in which they can run.
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "orrery/app/trace_check.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::app {

class TraceGraph {
 public:
  explicit TraceGraph(workload::Rank rank) : rank_{rank} {}
  void add(const workload::Op& op);
  /// Once, after the last node: reports duplicate ids, dependencies on nothing, and cycles. Communication in the
  /// order in which it would start if nothing took time (of those that may start, the lowest id first); what hangs
  /// on a cycle comes last, so that it is still matched.
  [[nodiscard]] std::vector<workload::Op> communication(TraceProblems& problems);
  [[nodiscard]] std::uint64_t size() const { return ids_.size(); }

 private:
  using Index = std::uint32_t;
  void sort_by_id(TraceProblems& problems);
  [[nodiscard]] bool find(std::uint64_t id, Index& index) const;
  void connect(TraceProblems& problems);
  [[nodiscard]] std::vector<Index> order(TraceProblems& problems);
  void report_cycles(const std::vector<std::uint32_t>& missing, TraceProblems& problems) const;
  [[nodiscard]] NodePlace place(Index index) const { return {rank_, ids_[index], name(index)}; }
  [[nodiscard]] const std::string& name(Index index) const { return names_[name_of_[index]]; }

  workload::Rank rank_;
  std::vector<std::uint64_t> ids_;
  std::vector<std::uint32_t> name_of_;  // Into names_: kernels have few names, and there are many of them.
  std::vector<std::string> names_;
  std::unordered_map<std::string, std::uint32_t> known_names_;  // Looked up only.
  std::vector<std::size_t> first_dep_{0};                       // One more than nodes.
  std::vector<std::uint64_t>
      deps_;  // Ids; after connect() indices, with kNowhere for those that are missing.
  std::vector<Index> communication_of_;  // Index into ops_, or kNone.
  std::vector<workload::Op> ops_;        // Those that communicate.
  std::vector<Index> by_id_;
};

}  // namespace orrery::app
