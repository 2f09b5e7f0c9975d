// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How a cluster becomes devices, instances and edges of InfraGraph: nodes that share the first part of their
/// name form an instance, and instances that look alike share a device.
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "orrery/topology/cluster.hpp"

namespace orrery::topology::infragraph {

/// A distinct set of link values; edges refer to it by position.
struct PlannedLink {
  LinkSpec spec;
  LinkSpec back;  ///< Of the other direction, b to a.
  bool is_half_duplex = false;
  std::uint32_t cables = 1;  ///< Parallel cables of one pair, which InfraGraph cannot tell apart.
};

struct PlannedComponent {
  std::string name;
  NodeKind kind = NodeKind::kOther;
  std::uint32_t count = 0;
  bool operator==(const PlannedComponent&) const = default;
};

/// Component `component` number `index` of instance `instance` of group `group`. Within a device the first
/// two are zero.
struct PlannedEnd {
  std::uint32_t group = 0;
  std::uint32_t instance = 0;
  std::uint32_t component = 0;
  std::uint32_t index = 0;
  auto operator<=>(const PlannedEnd&) const = default;
};

struct PlannedEdge {
  PlannedEnd a;
  PlannedEnd b;
  std::uint32_t link = 0;
  auto operator<=>(const PlannedEdge&) const = default;
};

struct PlannedDevice {
  std::string name;
  std::vector<PlannedComponent> components;
  std::vector<PlannedEdge> edges;
};

struct PlannedGroup {
  std::string name;
  std::uint32_t device = 0;
  std::uint32_t count = 0;
};

struct WritePlan {
  std::vector<PlannedLink> links;
  std::vector<PlannedDevice> devices;
  std::vector<PlannedGroup> groups;
  std::vector<PlannedEdge> edges;    ///< Between instances.
  std::vector<PlannedEnd> place_of;  ///< Of each node.
};

/// InputError when two nodes are joined by parallel cables of different values, which InfraGraph cannot say.
[[nodiscard]] WritePlan plan_write(const Cluster& cluster);

}  // namespace orrery::topology::infragraph
