// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A cluster under construction: what generators and the file reader write to before ranks are placed.
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/config/document.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::topology {

/// What one description may build. Far above real clusters, below what a typo in a count would need.
inline constexpr std::int64_t kMaxNodes = 4'000'000;
inline constexpr std::int64_t kMaxLinks = 16'000'000;

struct Draft {
  Graph graph;                      ///< Not finished.
  std::vector<NodeId> endpoints;    ///< Nodes that may hold ranks, in the default order of ranks.
  std::vector<DeviceSpec> devices;  ///< Kinds. A generator gives the name only; the reader looks it up.
  std::vector<std::uint32_t> endpoint_device;  ///< Index into `devices`; same length as `endpoints`.
  std::vector<std::string> node_group;         ///< Host or rack of each node, "" = none.
  std::int64_t ranks_per_device = 1;
  std::vector<std::string> warnings;

  NodeId add(std::string name, NodeKind kind, std::string group = {});
  /// add() of a device that may hold ranks.
  NodeId add_endpoint(std::string name, std::string group = {}, std::uint32_t device = 0);
};

/// Errors at `at` when `nodes` or `links` is more than a description may build.
void expect_size(const config::Cursor& at, double nodes, double links);

/// "name[3]".
[[nodiscard]] std::string indexed(std::string_view name, std::int64_t index);

}  // namespace orrery::topology
