// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Everything about a `collective` call that is known before the clock starts. All input errors come from here.
#include <vector>

#include "orrery/app/collective.hpp"
#include "orrery/app/element_type.hpp"
#include "orrery/app/network_choice.hpp"
#include "orrery/collectives/select/selector.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::app {

struct CollectivePlan {
  collectives::Operation operation{};
  topology::Cluster cluster;
  std::vector<collectives::Rank> group;
  std::vector<topology::NodeId> nodes;  ///< Of the group's ranks.
  std::vector<Bytes> sizes;
  std::vector<Bytes> uneven;
  ElementType dtype;
  NetworkChoice network;
  Duration skew{};
  std::size_t workers = 1;
  collectives::AlgorithmRegistry algorithms;

  [[nodiscard]] collectives::CollectiveRequest request(Bytes size, std::int64_t root) const;
};

[[nodiscard]] CollectivePlan plan_collective(const CollectiveOptions& options);

/// The settings as used, for the manifest.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> describe_plan(
    const CollectivePlan& plan, const CollectiveOptions& options);

}  // namespace orrery::app
