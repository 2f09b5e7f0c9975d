// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/draw/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>

#include "orrery/base/text.hpp"
#include "orrery/topology/draw/bundles.hpp"
#include "orrery/topology/draw/tiers.hpp"

namespace orrery::topology {
namespace {

constexpr std::size_t kMaxRows = 24;  // Kinds of links or devices listed before the rest is only counted.

std::string node_counts(const Graph& graph) {
  std::array<std::size_t, 7> counts{};
  for (std::size_t node = 0; node < graph.node_count(); ++node) {
    ++counts[static_cast<std::size_t>(graph.kind(NodeId{node}))];
  }
  std::string text;
  for (std::size_t kind = 0; kind < counts.size(); ++kind) {
    if (counts[kind] == 0) continue;
    text += fmt::format("{}{} {}", text.empty() ? "" : ", ", grouped(counts[kind]),
                        to_text(static_cast<NodeKind>(kind)));
  }
  return text;
}

std::string device_values(const DeviceSpec& device) {
  std::string text = device.name.empty() ? "unspecified" : device.name;
  if (device.peak.per_second > 0) text += fmt::format(", {}Tflops", device.peak.per_second / 1e12);
  if (device.memory.count() > 0) {
    text += fmt::format(", {:.4g}GB", static_cast<double>(device.memory.count()) / 1e9);
  }
  if (device.memory_bandwidth.bits_per_second() > 0) {
    text += fmt::format(" at {}", rate_text(device.memory_bandwidth));
  }
  if (device.compute_scale != 1.0) text += fmt::format(", compute x{}", device.compute_scale);
  return text;
}

/// Greatest distance between two ranks: exact while it is cheap, else from rank 0 only.
std::string distance(const Cluster& cluster) {
  constexpr std::size_t kCheap = 50'000'000;
  const std::set<NodeId> seats(cluster.ranks.begin(), cluster.ranks.end());
  const bool is_exact = seats.size() * (cluster.graph.edge_count() + cluster.graph.node_count()) <= kCheap;
  int farthest = 0;
  for (const NodeId source : seats) {
    const std::vector<int> hops = hops_from(cluster.graph, {source});
    for (const NodeId target : seats) {
      if (hops[target.index()] == kUnreached) return "some ranks cannot reach each other";
      farthest = std::max(farthest, hops[target.index()]);
    }
    if (!is_exact) break;
  }
  return fmt::format("{} links between {}", farthest,
                     is_exact ? "the two farthest ranks" : "one rank and its farthest");
}

}  // namespace

std::string summarize(const Cluster& cluster) {
  const Graph& graph = cluster.graph;
  const std::set<NodeId> seats(cluster.ranks.begin(), cluster.ranks.end());
  std::string text = fmt::format("{}\n", cluster.name);
  text += fmt::format("  ranks     {} on {} nodes\n", grouped(cluster.ranks.size()), grouped(seats.size()));
  text += fmt::format("  nodes     {}: {}\n", grouped(graph.node_count()), node_counts(graph));
  std::vector<std::size_t> ranks_of_kind(cluster.devices.size());
  for (const std::uint32_t kind : cluster.device_of_rank) ++ranks_of_kind[kind];
  for (std::size_t kind = 0, rows = 0; kind < cluster.devices.size() && rows < kMaxRows; ++kind) {
    if (ranks_of_kind[kind] == 0) continue;
    text += fmt::format("  {:<9} {} ranks: {}\n", rows++ == 0 ? "devices" : "", grouped(ranks_of_kind[kind]),
                        device_values(cluster.devices[kind]));
  }
  const Bundles bundles = bundle_links(graph);
  text += fmt::format("  links     {} cables\n", grouped(graph.edge_count()));
  for (std::size_t i = 0; i < std::min(bundles.all.size(), kMaxRows); ++i) {
    text += fmt::format("            {}: {}\n", bundles.all[i].ends, describe(bundles.all[i]));
  }
  if (bundles.all.size() > kMaxRows) {
    text += fmt::format("            and {} more kinds\n", bundles.all.size() - kMaxRows);
  }
  if (!cluster.ranks.empty()) text += fmt::format("  diameter  {}\n", distance(cluster));
  if (!cluster.events.empty()) {
    text += fmt::format("  events    {} changes of links\n", grouped(cluster.events.size()));
  }
  if (!cluster.jitter.empty()) {
    text += fmt::format("  jitter    on {} links\n", grouped(cluster.jitter.size()));
  }
  for (const std::string& warning : cluster.warnings) text += fmt::format("  warning   {}\n", warning);
  return text;
}

}  // namespace orrery::topology
