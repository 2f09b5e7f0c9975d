// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which switches add up data on its way, for in-network reduction: the switches on the ranks' ways to one root
/// switch, each handing on to the next one on its way.
#include <span>
#include <vector>

#include "orrery/collectives/algorithm.hpp"
#include "orrery/topology/router.hpp"

namespace orrery::collectives {

struct Aggregation {
  AggregationTree tree;
  std::vector<topology::NodeId> nodes;  ///< Of all participants: the ranks, then the switches.
};

/// An empty tree when the ranks have no switch in common.
[[nodiscard]] Aggregation find_aggregation(topology::Router& router, std::span<const topology::NodeId> ranks);

}  // namespace orrery::collectives
