// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How far nodes are from each other, in links.
#include <vector>

#include "orrery/topology/cluster.hpp"

namespace orrery::topology {

inline constexpr int kUnreached = -1;

/// Links from the nearest of `sources` to each node; kUnreached where there is no way.
[[nodiscard]] std::vector<int> hops_from(const Graph& graph, const std::vector<NodeId>& sources);

/// The row of each node in a picture: devices and ranks 0, everything else by its distance from them.
[[nodiscard]] std::vector<int> tiers_of(const Cluster& cluster);

}  // namespace orrery::topology
