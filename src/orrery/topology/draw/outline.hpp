// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which nodes and groups a picture shows: all while they are few, else the first two and the last (or, at the
/// shortest, the first and the last) of each run of alike ones with a count in between.
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/topology/cluster.hpp"

namespace orrery::topology {

/// A group of nodes and groups; the root holds everything.
struct OutlineGroup {
  std::string name;  ///< Last part of its path: "host[3]".
  std::vector<std::uint32_t> groups;
  std::vector<NodeId> nodes;
  int low = 0;  ///< Lowest and highest tier within.
  int high = 0;
  std::size_t size = 0;  ///< Nodes at any depth.
};

/// A stretch of a row: entries that are shown, and where some were left out how many there are in all.
struct OutlineRun {
  std::vector<std::uint32_t> shown;  ///< Group indices, or node ids.
  std::size_t total = 0;
  [[nodiscard]] bool is_short() const { return shown.size() < total; }
};

class Outline {
 public:
  Outline(const Cluster& cluster, const std::vector<int>& tiers);
  /// Runs longer than this are shortened; at least 2.
  void set_limit(std::size_t limit) { limit_ = limit; }
  /// Nodes that are shown.
  [[nodiscard]] std::size_t count_shown(std::uint32_t index = 0) const;
  [[nodiscard]] const OutlineGroup& group(std::uint32_t index) const { return groups_[index]; }
  /// The groups within a group, in runs of alike names.
  [[nodiscard]] std::vector<OutlineRun> group_runs(std::uint32_t index) const;
  /// A group's own nodes of one tier, in runs of alike names.
  [[nodiscard]] std::vector<OutlineRun> node_runs(std::uint32_t index, int tier) const;
  /// A frame is drawn around groups that hold more than one node.
  [[nodiscard]] bool is_framed(std::uint32_t index) const { return index != 0 && groups_[index].size > 1; }

 private:
  void measure(std::uint32_t index);
  [[nodiscard]] OutlineRun shorten(std::vector<std::uint32_t> entries) const;

  const Cluster& cluster_;
  const std::vector<int>& tiers_;
  std::vector<OutlineGroup> groups_;
  std::size_t limit_ = 16;
};

}  // namespace orrery::topology
