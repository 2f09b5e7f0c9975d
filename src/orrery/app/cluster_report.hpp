// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery cluster` as calls: what is in a cluster, and whether it can work.
#include <string>
#include <vector>

#include "orrery/topology/cluster.hpp"

namespace orrery::app {

/// InputError that names two ranks unless every rank can reach every other. Linear in the size of the graph.
void check_reachable(const topology::Cluster& cluster, const std::string& source);

/// Counts: {"name", "nodes", "edges", "ranks", "kinds": {...}, "devices": [...], "links": [...], "warnings": [...]}.
[[nodiscard]] std::string summary_json(const topology::Cluster& cluster);
/// Every node, cable and rank by name.
[[nodiscard]] std::string graph_json(const topology::Cluster& cluster);

struct Preset {
  std::string name;
  std::string description;
  std::size_t ranks = 0;
  std::size_t nodes = 0;
  std::size_t edges = 0;
};
/// The clusters of the catalogue.
[[nodiscard]] std::vector<Preset> list_presets();
[[nodiscard]] std::string presets_json(const std::vector<Preset>& presets);

}  // namespace orrery::app
