// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/generators/draft.hpp"

#include <fmt/format.h>

#include "orrery/base/check.hpp"

namespace orrery::topology {

NodeId Draft::add(std::string name, NodeKind kind, std::string group) {
  ORRERY_CHECK(node_group.size() == graph.node_count(), "a node was added behind the draft's back");
  node_group.push_back(std::move(group));
  return graph.add_node(std::move(name), kind);
}

NodeId Draft::add_endpoint(std::string name, std::string group, std::uint32_t device) {
  ORRERY_CHECK(device < devices.size(), "endpoint {} has no device kind", name);
  const NodeId node = add(std::move(name), NodeKind::kDevice, std::move(group));
  endpoints.push_back(node);
  endpoint_device.push_back(device);
  return node;
}

void expect_size(const config::Cursor& at, double nodes, double links) {
  if (nodes > static_cast<double>(kMaxNodes)) {
    at.fail(fmt::format("this makes {:.0f} nodes; at most {} are accepted", nodes, kMaxNodes));
  }
  if (links > static_cast<double>(kMaxLinks)) {
    at.fail(fmt::format("this makes {:.0f} links; at most {} are accepted", links, kMaxLinks));
  }
}

std::string indexed(std::string_view name, std::int64_t index) { return fmt::format("{}[{}]", name, index); }

}  // namespace orrery::topology
