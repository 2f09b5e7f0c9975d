// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/draw/tiers.hpp"

namespace orrery::topology {

std::vector<int> hops_from(const Graph& graph, const std::vector<NodeId>& sources) {
  std::vector<int> hops(graph.node_count(), kUnreached);
  std::vector<NodeId> frontier;
  for (const NodeId source : sources) {
    if (hops[source.index()] == 0) continue;
    hops[source.index()] = 0;
    frontier.push_back(source);
  }
  for (std::size_t next = 0; next < frontier.size(); ++next) {
    const NodeId node = frontier[next];
    for (const Hop& hop : graph.hops(node)) {
      if (hops[hop.target.index()] != kUnreached) continue;
      hops[hop.target.index()] = hops[node.index()] + 1;
      frontier.push_back(hop.target);
    }
  }
  return hops;
}

std::vector<int> tiers_of(const Cluster& cluster) {
  std::vector<NodeId> bottom = cluster.ranks;
  for (std::size_t node = 0; node < cluster.graph.node_count(); ++node) {
    if (cluster.graph.kind(NodeId{node}) == NodeKind::kDevice) bottom.push_back(NodeId{node});
  }
  std::vector<int> tiers = hops_from(cluster.graph, bottom);
  for (int& tier : tiers) {
    if (tier == kUnreached) tier = 1;
  }
  return tiers;
}

}  // namespace orrery::topology
