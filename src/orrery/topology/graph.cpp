// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/graph.hpp"

#include <algorithm>
#include <numeric>

#include "orrery/base/check.hpp"

namespace orrery::topology {

std::string_view to_text(NodeKind kind) {
  switch (kind) {
    case NodeKind::kDevice:
      return "device";
    case NodeKind::kSwitch:
      return "switch";
    case NodeKind::kNic:
      return "nic";
    case NodeKind::kCpu:
      return "cpu";
    case NodeKind::kMemory:
      return "memory";
    case NodeKind::kPort:
      return "port";
    case NodeKind::kOther:
      return "other";
  }
  return "other";
}

NodeId Graph::add_node(std::string name, NodeKind kind) {
  ORRERY_CHECK(first_hop_.empty(), "the graph is finished");
  names_.push_back(std::move(name));
  kinds_.push_back(kind);
  return NodeId{kinds_.size() - 1};
}

LinkId Graph::connect(NodeId a, NodeId b, const LinkSpec& spec, bool half_duplex) {
  ORRERY_CHECK(first_hop_.empty(), "the graph is finished");
  ORRERY_CHECK(a != b, "a link from {} to itself", name(a));
  ORRERY_CHECK(a.index() < node_count() && b.index() < node_count(), "unknown node");
  ORRERY_CHECK(spec.bandwidth.bits_per_second() > 0, "link {} - {} needs bandwidth", name(a), name(b));
  const auto edge = static_cast<std::uint32_t>(edges_.size());
  const LinkId forward{specs_.size()};
  for (int direction = 0; direction < (half_duplex ? 1 : 2); ++direction) {
    specs_.push_back(spec);
    link_edge_.push_back(edge);
  }
  edges_.push_back({a, b, forward, LinkId{specs_.size() - 1}});
  return forward;
}

void Graph::set_link(LinkId link, const LinkSpec& spec) {
  ORRERY_CHECK(first_hop_.empty(), "the graph is finished");
  ORRERY_CHECK(link.index() < link_count(), "unknown link {}", link.value());
  ORRERY_CHECK(spec.bandwidth.bits_per_second() > 0, "link {} needs bandwidth", link_name(link));
  specs_[link.index()] = spec;
}

void Graph::finish() {
  ORRERY_CHECK(first_hop_.empty(), "finish() called twice");
  first_hop_.assign(node_count() + 1, 0);
  for (const Edge& edge : edges_) {
    ++first_hop_[edge.a.index() + 1];
    ++first_hop_[edge.b.index() + 1];
  }
  std::partial_sum(first_hop_.begin(), first_hop_.end(), first_hop_.begin());
  hops_.resize(edges_.size() * 2);
  std::vector<std::uint32_t> next(first_hop_.begin(), first_hop_.end() - 1);
  for (const Edge& edge : edges_) {
    hops_[next[edge.a.index()]++] = {edge.b, edge.forward};
    hops_[next[edge.b.index()]++] = {edge.a, edge.backward};
  }
  for (std::size_t node = 0; node < node_count(); ++node) {
    std::sort(
        hops_.begin() + first_hop_[node], hops_.begin() + first_hop_[node + 1],
        [](const Hop& x, const Hop& y) { return std::pair{x.target, x.link} < std::pair{y.target, y.link}; });
  }
}

std::string Graph::link_name(LinkId link) const {
  const Edge& edge = edges_[link_edge_[link.index()]];
  if (edge.forward == edge.backward) return name(edge.a) + "--" + name(edge.b);
  const bool is_forward = edge.forward == link;
  return name(is_forward ? edge.a : edge.b) + "->" + name(is_forward ? edge.b : edge.a);
}

NodeId Graph::find(std::string_view name) const {
  const auto found = std::ranges::find(names_, name);
  return found == names_.end() ? NodeId{} : NodeId{static_cast<std::size_t>(found - names_.begin())};
}

std::size_t Graph::component_count() const {
  std::vector<std::uint32_t> parent(node_count());
  std::iota(parent.begin(), parent.end(), 0U);
  const auto root = [&](std::uint32_t node) {
    while (parent[node] != node) node = parent[node] = parent[parent[node]];
    return node;
  };
  std::size_t components = node_count();
  for (const Edge& edge : edges_) {
    const std::uint32_t a = root(edge.a.value());
    const std::uint32_t b = root(edge.b.value());
    if (a != b) {
      parent[a] = b;
      --components;
    }
  }
  return components;
}

}  // namespace orrery::topology
