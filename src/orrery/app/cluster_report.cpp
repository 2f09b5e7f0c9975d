// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/cluster_report.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <tuple>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/config/document.hpp"
#include "orrery/topology/catalog.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::app {
namespace {

using Json = nlohmann::ordered_json;
using topology::Cluster;
using topology::Graph;
using topology::NodeId;

std::string dump(const Json& json) { return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n"; }

/// Connected parts by union-find with path halving.
class Parts {
 public:
  explicit Parts(const Graph& graph) : parent_(graph.node_count()) {
    std::iota(parent_.begin(), parent_.end(), 0U);
    for (const Graph::Edge& edge : graph.edges()) parent_[root(edge.a.value())] = root(edge.b.value());
  }
  [[nodiscard]] std::uint32_t root(std::uint32_t node) {
    while (parent_[node] != node) node = parent_[node] = parent_[parent_[node]];
    return node;
  }

 private:
  std::vector<std::uint32_t> parent_;
};

Json kinds_json(const Graph& graph) {
  Json kinds = Json::object();
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const std::string kind{topology::to_text(graph.kind(NodeId{i}))};
    kinds[kind] = kinds.value(kind, 0) + 1;
  }
  return kinds;
}

Json devices_json(const Cluster& cluster) {
  std::map<std::uint32_t, std::size_t> ranks;
  for (const std::uint32_t device : cluster.device_of_rank) ++ranks[device];
  Json devices = Json::array();
  for (const auto& [index, count] : ranks) {
    const topology::DeviceSpec& device = cluster.devices[index];
    devices.push_back({{"name", device.name},
                       {"ranks", count},
                       {"peak_flops", device.peak.per_second},
                       {"memory_bytes", device.memory.count()},
                       {"memory_bandwidth_bps", device.memory_bandwidth.bits_per_second()}});
  }
  return devices;
}

/// Kinds of links with how many there are, fastest first.
Json links_json(const Graph& graph) {
  std::map<std::tuple<std::int64_t, std::int64_t>, std::size_t> kinds;
  for (std::size_t i = 0; i < graph.link_count(); ++i) {
    const topology::LinkSpec& link = graph.link(topology::LinkId{i});
    ++kinds[{-link.bandwidth.bits_per_second(), count_ps(link.latency)}];
  }
  Json links = Json::array();
  for (const auto& [kind, count] : kinds) {
    links.push_back(
        {{"bandwidth_bps", -std::get<0>(kind)}, {"latency_ps", std::get<1>(kind)}, {"count", count}});
  }
  return links;
}

std::string description_of(const std::string& path) {
  const config::Document document = config::Document::load(path);
  const config::Node* text = document.root().find("description");
  return text == nullptr ? std::string{} : text->text;
}

}  // namespace

void check_reachable(const Cluster& cluster, const std::string& source) {
  if (cluster.ranks.empty()) return;
  Parts parts{cluster.graph};
  const std::uint32_t first = parts.root(cluster.ranks[0].value());
  for (std::size_t rank = 1; rank < cluster.ranks.size(); ++rank) {
    if (parts.root(cluster.ranks[rank].value()) == first) continue;
    throw InputError{
        {.source = source,
         .position = {},
         .field = {},
         .value = {},
         .expected =
             fmt::format("rank 0 ({}) cannot reach rank {} ({}): no path of links joins them",
                         cluster.graph.name(cluster.ranks[0]), rank, cluster.graph.name(cluster.ranks[rank])),
         .nearest = {}}};
  }
}

std::string summary_json(const Cluster& cluster) {
  return dump({{"name", cluster.name},
               {"nodes", cluster.graph.node_count()},
               {"edges", cluster.graph.edge_count()},
               {"ranks", cluster.ranks.size()},
               {"components", cluster.graph.component_count()},
               {"kinds", kinds_json(cluster.graph)},
               {"devices", devices_json(cluster)},
               {"links", links_json(cluster.graph)},
               {"link_events", cluster.events.size()},
               {"warnings", cluster.warnings}});
}

std::string graph_json(const Cluster& cluster) {
  const Graph& graph = cluster.graph;
  Json nodes = Json::array();
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    Json node{{"name", graph.name(NodeId{i})}, {"kind", topology::to_text(graph.kind(NodeId{i}))}};
    if (!cluster.node_group.empty() && !cluster.node_group[i].empty()) node["group"] = cluster.node_group[i];
    nodes.push_back(std::move(node));
  }
  Json edges = Json::array();
  for (const Graph::Edge& edge : graph.edges()) {
    const topology::LinkSpec& there = graph.link(edge.forward);
    const topology::LinkSpec& back = graph.link(edge.backward);
    edges.push_back({{"a", graph.name(edge.a)},
                     {"b", graph.name(edge.b)},
                     {"bandwidth_bps", there.bandwidth.bits_per_second()},
                     {"latency_ps", count_ps(there.latency)},
                     {"back_bandwidth_bps", back.bandwidth.bits_per_second()},
                     {"back_latency_ps", count_ps(back.latency)},
                     {"half_duplex", edge.forward == edge.backward}});
    if (there.burst != Bytes{}) edges.back()["burst_bytes"] = there.burst.count();
  }
  Json ranks = Json::array();
  for (const NodeId node : cluster.ranks) ranks.push_back(graph.name(node));
  return dump({{"name", cluster.name},
               {"nodes", std::move(nodes)},
               {"edges", std::move(edges)},
               {"ranks", std::move(ranks)},
               {"warnings", cluster.warnings}});
}

std::vector<Preset> list_presets() {
  std::vector<Preset> presets;
  const topology::Catalog catalog;
  for (const std::string& name : catalog.cluster_names()) {
    const Cluster cluster = topology::load_cluster(name);
    presets.push_back({.name = name,
                       .description = description_of(catalog.cluster_path(name)),
                       .ranks = cluster.ranks.size(),
                       .nodes = cluster.graph.node_count(),
                       .edges = cluster.graph.edge_count()});
  }
  return presets;
}

std::string presets_json(const std::vector<Preset>& presets) {
  Json clusters = Json::array();
  for (const Preset& preset : presets) {
    clusters.push_back({{"name", preset.name},
                        {"description", preset.description},
                        {"ranks", preset.ranks},
                        {"nodes", preset.nodes},
                        {"edges", preset.edges}});
  }
  return dump({{"clusters", std::move(clusters)}, {"generators", topology::builtin_generators().names()}});
}

}  // namespace orrery::app
