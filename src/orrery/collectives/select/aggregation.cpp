// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/select/aggregation.hpp"

#include <algorithm>
#include <optional>
#include <unordered_map>

namespace orrery::collectives {
namespace {

using topology::NodeId;

/// Nodes of the way from `source` to `target`, both included.
std::vector<NodeId> nodes_on_way(topology::Router& router, NodeId source, NodeId target) {
  std::vector<NodeId> nodes{source};
  for (const topology::LinkId link : router.links(router.route(source, target))) {
    for (const topology::Hop& hop : router.graph().hops(nodes.back())) {
      if (hop.link != link) continue;
      nodes.push_back(hop.target);
      break;
    }
  }
  return nodes;
}

/// The switch in the middle of the longest way from the first rank: the top of a tree-like network.
std::optional<NodeId> find_root(topology::Router& router, std::span<const NodeId> ranks) {
  std::vector<NodeId> longest;
  for (const NodeId rank : ranks) {
    std::vector<NodeId> way = nodes_on_way(router, ranks.front(), rank);
    if (way.size() > longest.size()) longest = std::move(way);
  }
  std::optional<NodeId> root;
  std::size_t best = longest.size();
  for (std::size_t i = 0; i < longest.size(); ++i) {
    if (router.graph().kind(longest[i]) != topology::NodeKind::kSwitch) continue;
    const std::size_t off_centre = std::max(i, longest.size() - 1 - i) - (longest.size() - 1) / 2;
    if (off_centre < best) {
      best = off_centre;
      root = longest[i];
    }
  }
  return root;
}

}  // namespace

Aggregation find_aggregation(topology::Router& router, std::span<const NodeId> ranks) {
  Aggregation found;
  if (ranks.size() < 2) return found;
  const std::optional<NodeId> root = find_root(router, ranks);
  if (!root) return found;
  found.nodes.assign(ranks.begin(), ranks.end());
  found.tree.parent.assign(ranks.size(), 0);
  std::unordered_map<NodeId, Rank> number;  // Of each switch in the tree; looked up only.
  const auto add_switch = [&](NodeId node, Rank parent) {
    const auto id = static_cast<Rank>(found.nodes.size());
    number.emplace(node, id);
    found.nodes.push_back(node);
    found.tree.parent.push_back(parent);
    return id;
  };
  const auto top = static_cast<Rank>(found.nodes.size());
  add_switch(*root, top);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) {
    // Climb until a switch that is in the tree already; then hang the new ones below it, topmost first.
    std::vector<NodeId> fresh;
    Rank above = top;
    for (const NodeId node : nodes_on_way(router, ranks[rank], *root)) {
      if (router.graph().kind(node) != topology::NodeKind::kSwitch) continue;
      if (const auto known = number.find(node); known != number.end()) {
        above = known->second;
        break;
      }
      fresh.push_back(node);
    }
    for (auto node = fresh.rbegin(); node != fresh.rend(); ++node) above = add_switch(*node, above);
    found.tree.parent[rank] = above;
  }
  return found;
}

}  // namespace orrery::collectives
