// SPDX-License-Identifier: Apache-2.0
// The steps of reading an InfraGraph file: schema, layouts, expansion, annotations, then the cluster.
#include <algorithm>

#include "orrery/base/check.hpp"
#include "orrery/base/text.hpp"
#include "orrery/topology/infragraph/annotations.hpp"
#include "orrery/topology/infragraph/infragraph.hpp"
#include "orrery/topology/infragraph/node_names.hpp"

namespace orrery::topology {
namespace {

using namespace infragraph;

constexpr std::size_t kMostNodes = 1U << 30;  // Offsets above 2^31 mean something else.

/// Every xpu. Without any: every cpu that is not the ASIC of a switch, which upstream's generic switch
/// describes as a cpu among ports.
std::vector<std::uint32_t> default_ranks(const Graph& graph, const std::vector<std::string>& groups) {
  std::vector<std::uint32_t> xpus;
  std::vector<std::uint32_t> cpus;
  std::unordered_map<std::string_view, bool> is_switch;
  for (std::size_t i = 0; i < graph.node_count(); ++i) {
    const NodeKind kind = graph.kind(NodeId{i});
    if (kind == NodeKind::kDevice) xpus.push_back(static_cast<std::uint32_t>(i));
    if (kind == NodeKind::kCpu) cpus.push_back(static_cast<std::uint32_t>(i));
    if (kind == NodeKind::kPort) is_switch[groups[i]] = true;
  }
  if (!xpus.empty()) return xpus;
  std::erase_if(cpus, [&](std::uint32_t cpu) { return is_switch.contains(groups[cpu]); });
  return cpus;
}

void connect_edges(const Expansion& expansion, const Annotations& annotations,
                   const InfraGraphOptions& options, Cluster& cluster) {
  LinkValues values{options};
  struct Resolved {
    LinkSpec spec;
    LinkSpec back;
    bool is_half_duplex = false;
    std::uint32_t cables = 1;
    bool is_known = false;
  };
  const auto resolve = [&](const LinkUse& link, const LinkOverride& override) {
    const LinkSpec spec = values.resolve(link, override);
    return Resolved{.spec = spec,
                    .back = {override.back_bandwidth.value_or(spec.bandwidth),
                             override.back_latency.value_or(spec.latency)},
                    .is_half_duplex = override.is_half_duplex.value_or(false),
                    .cables = override.cables.value_or(1),
                    .is_known = true};
  };
  const auto of_link = [&](const LinkUse& link) {
    const auto found = annotations.by_link.find(link.name);
    return found == annotations.by_link.end() ? LinkOverride{} : found->second;
  };
  std::vector<Resolved> by_link(expansion.links.size());
  for (std::uint32_t i = 0; i < expansion.edges.size(); ++i) {
    const ExpandedEdge& edge = expansion.edges[i];
    const LinkUse& link = expansion.links[edge.link];
    Resolved& shared = by_link[edge.link];
    if (!shared.is_known) shared = resolve(link, of_link(link));
    Resolved resolved = shared;
    if (const auto found = annotations.by_edge.find(i); found != annotations.by_edge.end()) {
      LinkOverride override = of_link(link);
      override.update(found->second);
      resolved = resolve(link, override);
    }
    for (std::uint32_t cable = 0; cable < resolved.cables; ++cable) {
      const LinkId forward =
          cluster.graph.connect(NodeId{edge.a}, NodeId{edge.b}, resolved.spec, resolved.is_half_duplex);
      if (!resolved.is_half_duplex) cluster.graph.set_link(LinkId{forward.index() + 1}, resolved.back);
    }
  }
  for (const std::string& remark : values.remarks()) cluster.warnings.push_back(remark);
}

void warn_of_isolation(Cluster& cluster) {
  std::size_t isolated = 0;
  NodeId first;
  for (std::size_t i = 0; i < cluster.graph.node_count(); ++i) {
    if (!cluster.graph.hops(NodeId{i}).empty()) continue;
    if (isolated++ == 0) first = NodeId{i};
  }
  if (isolated > 0) {
    cluster.warnings.push_back(
        fmt::format("{} nodes have no link, such as '{}'", isolated, cluster.graph.name(first)));
  }
  const std::size_t parts = cluster.graph.component_count() - isolated;
  if (parts > 1) {
    cluster.warnings.push_back(fmt::format("the graph is in {} parts that no link joins", parts));
  }
}

void place_ranks(const Annotations& annotations, Cluster& cluster) {
  const std::vector<std::uint32_t> nodes =
      annotations.ranks.empty() ? default_ranks(cluster.graph, cluster.node_group) : annotations.ranks;
  if (nodes.empty()) {
    cluster.warnings.push_back(
        "no node is a rank: the file has neither an xpu, nor a cpu outside a switch, nor a 'rank' "
        "annotation");
  }
  for (const std::uint32_t node : nodes) cluster.ranks.push_back(NodeId{node});
  if (!nodes.empty()) cluster.devices.emplace_back();  // InfraGraph does not say what a device can do.
  cluster.device_of_rank.assign(nodes.size(), 0);
}

}  // namespace

bool is_infragraph(const config::Document& document) {
  const config::Node& root = document.root();
  const config::Node* devices = root.find("devices");
  const bool lists_devices = devices != nullptr && devices->kind == config::Kind::kSequence;
  const bool has_components =
      lists_devices && std::ranges::any_of(devices->items, [](const config::Node& device) {
        return device.find("components") != nullptr;
      });
  return root.find("infrastructure") != nullptr || root.find("instances") != nullptr ||
         root.find("components") != nullptr || root.find("connections") != nullptr || has_components;
}

Cluster read_infragraph(const config::Document& document, const InfraGraphOptions& options) {
  const std::size_t max_nodes = std::min(options.max_nodes, kMostNodes);
  const Reader reader{
      .document = document, .lenient = options.lenient, .max_count = static_cast<std::int64_t>(max_nodes)};
  const Infrastructure infrastructure = read_schema(reader);
  const Layouts layouts{infrastructure, reader, max_nodes};
  const Expansion expansion = expand(infrastructure, layouts, reader, options);

  Cluster cluster;
  cluster.name = infrastructure.name;
  cluster.warnings = expansion.remarks;
  std::vector<NodeKind> kinds;
  kinds.reserve(expansion.node_count());
  cluster.node_group.reserve(expansion.node_count());
  name_nodes(expansion, layouts, [&](std::string name, NodeKind kind, const std::string& group) {
    cluster.graph.add_node(std::move(name), kind);
    kinds.push_back(kind);
    cluster.node_group.push_back(group);
  });
  ORRERY_CHECK(kinds.size() == expansion.node_count(), "{} names for {} nodes", kinds.size(),
               expansion.node_count());
  const Annotations annotations = read_annotations(reader, expansion, layouts, kinds);
  connect_edges(expansion, annotations, options, cluster);
  cluster.graph.finish();
  warn_of_isolation(cluster);
  place_ranks(annotations, cluster);
  return cluster;
}

}  // namespace orrery::topology
