// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numbers>
#include <set>

#include "orrery/topology/draw/picture.hpp"

namespace orrery::topology {

std::string short_name(std::string_view name) {
  std::size_t begin = name.rfind('.');
  const auto is_digit_after = [&] {
    return begin + 1 < name.size() && name[begin + 1] >= '0' && name[begin + 1] <= '9';
  };
  while (begin != std::string_view::npos && begin > 0 && is_digit_after()) begin = name.rfind('.', begin - 1);
  return std::string{begin == std::string_view::npos ? name : name.substr(begin + 1)};
}

double mark_width(std::string_view label) { return 16 + 6.6 * static_cast<double>(label.size()); }

Picture lay_out_circle(const Cluster& cluster, const Bundles& bundles) {
  constexpr std::size_t kMostHosts = 32;
  const Graph& graph = cluster.graph;
  const std::size_t count = graph.node_count();
  if (count < 3 || count > kMostHosts) return {};
  for (std::size_t node = 0; node < count; ++node) {
    if (graph.kind(NodeId{node}) != NodeKind::kDevice) return {};
  }
  double widest = 0;
  for (std::size_t node = 0; node < count; ++node) {
    widest = std::max(widest, mark_width(short_name(graph.name(NodeId{node}))));
  }
  const double radius =
      std::max(110.0, static_cast<double>(count) * (widest + kMarkGap) / (2 * std::numbers::pi));
  Picture picture;
  picture.width = 2 * radius + widest;
  picture.height = 2 * radius + 3 * kMarkHeight;
  for (std::size_t node = 0; node < count; ++node) {
    const double angle =
        2 * std::numbers::pi * static_cast<double>(node) / static_cast<double>(count) - std::numbers::pi / 2;
    std::string label = short_name(graph.name(NodeId{node}));
    const double width = mark_width(label);
    picture.marks.push_back({NodeId{node}, picture.width / 2 + radius * std::cos(angle),
                             picture.height / 2 + radius * std::sin(angle), width, std::move(label)});
  }
  picture.bundle_y.assign(bundles.all.size(), kMarkHeight);
  std::set<std::tuple<NodeId, NodeId, std::uint32_t>> drawn;
  for (std::size_t i = 0; i < graph.edge_count(); ++i) {
    const auto [a, b] = std::minmax(graph.edges()[i].a, graph.edges()[i].b);
    if (!drawn.emplace(a, b, bundles.of_edge[i]).second) continue;
    const Picture::Mark& from = picture.marks[a.index()];
    const Picture::Mark& to = picture.marks[b.index()];
    picture.lines.push_back({bundles.of_edge[i], from.x, from.y, to.x, to.y, 0, false});
  }
  return picture;
}

}  // namespace orrery::topology
