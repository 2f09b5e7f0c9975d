// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "orrery/topology/cluster_file_build.hpp"

namespace orrery::topology {
namespace {

constexpr int kMaxNesting = 8;

NodeKind kind_of(const std::string& text) {
  for (const NodeKind kind : {NodeKind::kDevice, NodeKind::kSwitch, NodeKind::kNic, NodeKind::kCpu,
                              NodeKind::kMemory, NodeKind::kPort}) {
    if (to_text(kind) == text) return kind;
  }
  return NodeKind::kOther;
}

/// Names are what patterns are made of, so they are kept to what a pattern can say.
void expect_name(const config::Cursor& nodes, const config::Entry& entry) {
  const PatternText text = PatternText::of_key(nodes, entry);
  const NodePattern pattern = parse_node_pattern(text, entry.key);
  const bool is_plain = pattern.segments.size() == 1 && pattern.segments[0].name == entry.key;
  if (!is_plain) text.fail("expected a plain name; `count` makes several");
}

/// What a container is made of: its own nodes and links, or those of its template.
struct Parts {
  config::Cursor nodes;
  Section links;
};

std::optional<Parts> parts_of(const FileBuild& build, const NodeFields& fields, const config::Cursor& at) {
  if (!fields.nodes && !fields.template_name) {
    if (fields.links) at.at("links").fail("links inside a node need `nodes` or `template`");
    return std::nullopt;
  }
  if (fields.nodes && fields.template_name) at.fail("give either `nodes` or `template`, not both");
  if (fields.kind || fields.device) at.fail("a node made of others has no kind or device of its own");
  if (fields.nodes) return Parts{*fields.nodes, fields.links};
  if (fields.links) at.at("links").fail("the links of a copy are those of its template");
  const config::Cursor name = at.at("template");
  if (!build.file.templates) name.fail("the file has no `templates`");
  build.file.templates->expect_mapping();
  if (!build.file.templates->has(*fields.template_name)) {
    std::vector<std::string> known;
    for (const config::Entry& entry : build.file.templates->node().entries) known.push_back(entry.key);
    name.fail(fmt::format("no such template; expected one of: {}", join(known, ", ")),
              nearest_name(*fields.template_name, known));
  }
  const auto body = config::read_spec<TemplateFields>(build.file.templates->at(*fields.template_name));
  return Parts{*body.nodes, body.links};
}

void add_plain(FileBuild& build, const NodeFields& fields, const config::Cursor& at, NameTree::Place place,
               std::string name, const std::string& group) {
  const NodeKind kind = kind_of(fields.kind.value_or("device"));
  NodeId node;
  if (kind == NodeKind::kDevice) {
    const std::uint32_t device = build.devices.index_of(
        fields.device.value_or(""), fields.device ? at.at("device") : at, build.draft.devices);
    node = build.draft.add_endpoint(std::move(name), group, device);
  } else {
    if (fields.device) at.at("device").fail("only nodes of kind device have one");
    node = build.draft.add(std::move(name), kind, group);
  }
  build.names.set_node(place, node);
}

}  // namespace

void add_nodes(FileBuild& build, const config::Cursor& nodes, const Container& into) {
  if (into.depth >= kMaxNesting) {
    nodes.fail(fmt::format("nodes nest deeper than {} levels; does a template contain itself?", kMaxNesting));
  }
  nodes.expect_mapping();
  if (nodes.node().entries.empty()) nodes.fail("expected at least one node");
  expect_pattern_keys(nodes);
  for (const config::Entry& entry : nodes.node().entries) {
    expect_name(nodes, entry);
    const config::Cursor at = nodes.at(entry.key);
    if (build.names.has(into.place, entry.key)) at.fail("the topology already has nodes of that name");
    // "ap:" alone is one plain device.
    const NodeFields fields =
        at.node().kind == config::Kind::kNull ? NodeFields{} : config::read_spec<NodeFields>(at);
    const std::optional<Parts> parts = parts_of(build, fields, at);
    // A container adds at least one node per copy, so the check holds for both and bounds the loop.
    expect_size(at, static_cast<double>(build.draft.graph.node_count()) + static_cast<double>(fields.count),
                0);
    for (std::int64_t i = 0; i < fields.count; ++i) {
      const std::string own = indexed(entry.key, i);
      std::string name = into.path.empty() ? own : fmt::format("{}.{}", into.path, own);
      const NameTree::Place place = build.names.add(into.place, entry.key, i);
      if (!parts) {
        add_plain(build, fields, at, place, std::move(name), into.group);
        continue;
      }
      const std::string group = into.group.empty() ? own : fmt::format("{}/{}", into.group, own);
      add_nodes(build, parts->nodes, {place, std::move(name), group, into.depth + 1});
      if (parts->links) add_links(build, *parts->links, place);
    }
  }
}

std::vector<std::uint32_t> endpoints_by_node(const Draft& draft) {
  std::vector<std::uint32_t> endpoints(draft.graph.node_count(), kNoEndpoint);
  for (std::uint32_t i = 0; i < draft.endpoints.size(); ++i) endpoints[draft.endpoints[i].index()] = i;
  return endpoints;
}

void apply_groups(FileBuild& build, const config::Cursor& groups) {
  groups.expect_mapping();
  expect_pattern_keys(groups);
  const auto put = [&](const config::Cursor& at, const std::string& rack) {
    const PatternText text = PatternText::of_value(at);
    for (const NameTree::Match& match :
         build.names.select(NameTree::kRoot, parse_node_pattern(text, text.text), text)) {
      for (const NodeId node : build.names.nodes_below(match.place, text)) {
        std::string& group = build.draft.node_group[node.index()];
        group = group.empty() ? rack : fmt::format("{}/{}", rack, group);
      }
    }
  };
  for (const config::Entry& entry : groups.node().entries) {
    const config::Cursor at = groups.at(entry.key);
    if (at.node().kind != config::Kind::kSequence) {
      put(at, entry.key);
      continue;
    }
    for (std::size_t i = 0; i < at.size(); ++i) put(at.item(i), entry.key);
  }
}

}  // namespace orrery::topology
