// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One path of a graph: fewest hops, then least latency, then a hash among equals.
///
/// Breadth first from both ends, a whole level at a time, the side with fewer ways out first. When the sides
/// meet after f and b levels, every shortest path has f + b hops and crosses exactly one meeting node, so the
/// recorded level edges hold all of them; one sweep from the target gives each node its least remaining
/// latency, one walk from the source picks the links. Work is that of the levels seen, whatever the graph.
#include <array>
#include <cstdint>
#include <vector>

#include "orrery/topology/graph.hpp"

namespace orrery::topology::detail {

class PathSearch {
 public:
  explicit PathSearch(const Graph& graph);

  /// Appends the links from `source` to `target` to `links`. Among equal ways on, the link whose hash with
  /// `key` is lowest wins: that depends on no order of discovery. False when there is no path.
  [[nodiscard]] bool find(NodeId source, NodeId target, std::uint64_t key, std::vector<LinkId>& links);

  /// The only hop out of `node`, or nullptr when it has none or several.
  [[nodiscard]] const Hop* only_hop(NodeId node) const {
    const auto hops = graph_.hops(node);
    return hops.size() == 1 ? hops.data() : nullptr;
  }
  /// The other direction of a link.
  [[nodiscard]] LinkId reverse(LinkId link) const { return reverse_[link.index()]; }

 private:
  enum Side : std::uint32_t { kForward = 0, kBackward = 1 };
  struct Way {
    std::uint32_t target;
    LinkId link;
    std::int64_t latency;
    std::int64_t back_latency;  // Of the other direction.
  };
  /// A way that leads from one level to the next one of its side.
  struct LevelEdge {
    std::uint32_t inner;  // Nearer to the side's own end.
    std::uint32_t outer;
    LinkId link;  // In the direction of travel, source to target.
    std::int64_t latency;
  };
  /// Valid only while `stamp` is that of the current search: nothing is ever cleared.
  struct Mark {
    std::uint32_t stamp = 0;
    std::uint32_t level = 0;
    std::int64_t cost = 0;  // Least latency to the target; kUnknown until the sweep reaches the node.
  };
  struct Half {
    std::vector<std::uint32_t> frontier;
    std::vector<LevelEdge> edges;
    std::vector<std::size_t> level_end;  // Of each level, in `edges`.
    std::size_t ways = 0;                // Out of the frontier.
  };

  void add_ways();
  [[nodiscard]] bool is_dead_end(NodeId node) const;  // All its links go to one neighbour.
  void begin(NodeId source, NodeId target);
  bool expand(Side side);  // True when the sides have met.
  void sweep_costs(NodeId target);
  void walk(NodeId source, std::uint64_t key, std::vector<LinkId>& links) const;
  [[nodiscard]] std::size_t way_count(std::uint32_t node) const {
    return first_way_[node + 1] - first_way_[node];
  }

  const Graph& graph_;
  std::vector<LinkId> reverse_;
  std::vector<Way> ways_;  // The graph's hops without dead ends: a leaf is never inside a path.
  std::vector<std::size_t> first_way_;
  std::vector<Mark> marks_;
  std::array<Half, 2> halves_;
  std::vector<std::uint32_t> next_frontier_;
  std::uint32_t epoch_ = 0;
};

}  // namespace orrery::topology::detail
