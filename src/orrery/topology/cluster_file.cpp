// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/cluster_file.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "orrery/topology/cluster_file_build.hpp"
#include "orrery/topology/placement.hpp"

namespace orrery::topology {
namespace {

/// `topology: {star: {...}}`: the generated draft is where the rest of the file goes on.
void generate(FileBuild& build, const config::Cursor& topology, const GeneratorRegistry& generators) {
  topology.expect_mapping();
  if (topology.node().entries.size() != 1) {
    topology.fail("expected one generator and its fields, such as {star: {hosts: 8, ...}}");
  }
  topology.expect_keys(generators.names());
  const std::string& name = topology.node().entries.front().key;
  const config::Cursor at = topology.at(name);
  at.expect_mapping();
  build.draft = generators.find(name)->build(at);
  for (DeviceSpec& device : build.draft.devices) {
    if (!device.name.empty()) device = build.devices.get(device.name, at.at("device"));
  }
  for (std::size_t node = 0; node < build.draft.graph.node_count(); ++node) {
    build.names.add_path(build.draft.graph.name(NodeId{node}), NodeId{node});
  }
}

/// Endpoints at and below what the pattern names, in that order.
void select_endpoints(const FileBuild& build, const std::vector<std::uint32_t>& endpoint_of_node,
                      const PatternText& text, std::vector<std::uint32_t>& endpoints) {
  const std::size_t before = endpoints.size();
  for (const NameTree::Match& match :
       build.names.select(NameTree::kRoot, parse_node_pattern(text, text.text), text)) {
    for (const NodeId node : build.names.nodes_below(match.place, text)) {
      const std::uint32_t endpoint = endpoint_of_node[node.index()];
      if (endpoint != kNoEndpoint) endpoints.push_back(endpoint);
    }
  }
  if (endpoints.size() == before) text.fail("no device is among these nodes, and ranks need devices");
}

std::string name_of(const FileFields& file, const std::string& source) {
  return file.name.empty() ? std::filesystem::path{source}.stem().string() : file.name;
}

}  // namespace

std::vector<std::uint32_t> place_ranks(const FileBuild& build, const config::Cursor& root) {
  const Draft& draft = build.draft;
  if (!build.file.ranks) return order_ranks(draft, {}, all_endpoints(draft), root);
  const config::Cursor& ranks = *build.file.ranks;
  const std::vector<std::uint32_t> endpoint_of_node = endpoints_by_node(draft);
  if (ranks.node().kind == config::Kind::kSequence) {
    std::vector<std::uint32_t> placed;
    for (std::size_t i = 0; i < ranks.size(); ++i) {
      select_endpoints(build, endpoint_of_node, PatternText::of_value(ranks.item(i)), placed);
      if (placed.size() > static_cast<std::size_t>(kMaxRanks)) {
        ranks.fail(fmt::format("more than {} ranks", kMaxRanks));
      }
    }
    if (placed.empty()) ranks.fail("expected at least one device");
    return placed;
  }
  const auto spec = config::read_spec<PlacementSpec>(ranks);
  std::vector<std::uint32_t> allowed;
  if (spec.on) {
    select_endpoints(build, endpoint_of_node, PatternText::of_value(ranks.at("on")), allowed);
  } else {
    allowed = all_endpoints(draft);
  }
  return order_ranks(draft, spec, allowed, ranks);
}

Cluster read_cluster(const config::Document& document, const Catalog& catalog,
                     const GeneratorRegistry& generators) {
  const config::Cursor root{document};
  const auto file = config::read_spec<FileFields>(root);
  if (!file.topology && !file.nodes) root.fail("a cluster needs `nodes`, or a `topology` to generate them");
  DeviceTable devices{file.devices, catalog};
  FileBuild build{.file = file, .devices = devices, .draft = {}, .names = {}};
  if (file.topology) generate(build, *file.topology, generators);
  if (file.nodes) add_nodes(build, *file.nodes, {});
  if (file.links) add_links(build, *file.links, NameTree::kRoot);
  if (file.groups) apply_groups(build, *file.groups);
  if (file.overrides) apply_overrides(build, *file.overrides);
  std::vector<LinkEvent> events = file.events ? read_events(build, *file.events) : std::vector<LinkEvent>{};
  std::vector<LinkJitter> jitter = file.jitter ? read_jitter(build, *file.jitter) : std::vector<LinkJitter>{};
  const std::vector<std::uint32_t> placed = place_ranks(build, root);
  Cluster cluster = finish_cluster(std::move(build.draft), name_of(file, document.source()), placed);
  cluster.events = std::move(events);
  cluster.jitter = std::move(jitter);
  cluster.nccl_platform = file.nccl_platform;
  cluster.switches_reduce = file.switches_reduce;
  return cluster;
}

}  // namespace orrery::topology
