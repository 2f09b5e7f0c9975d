// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "orrery/topology/cluster_file_build.hpp"

namespace orrery::topology {
namespace {

void add_cable(FileBuild& build, NodeId a, NodeId b, const CableSpec& spec, const PatternText& text) {
  if (a == b) {
    text.fail(
        fmt::format("this links {} to itself; to join nodes among themselves give one pattern and `shape`",
                    build.draft.graph.name(a)));
  }
  const bool is_half = spec.duplex == "half";
  for (std::int64_t cable = 0; cable < spec.count; ++cable) {
    if (build.draft.graph.edge_count() >= static_cast<std::size_t>(kMaxLinks)) {
      text.fail(fmt::format("this makes more than the {} links that are accepted", kMaxLinks));
    }
    const LinkId forward = build.draft.graph.connect(a, b, {spec.bandwidth, spec.latency, spec.burst}, is_half);
    if (spec.back_bandwidth || spec.back_latency) {
      build.draft.graph.set_link(LinkId{forward.index() + 1}, {spec.back_bandwidth.value_or(spec.bandwidth),
                                                               spec.back_latency.value_or(spec.latency), spec.burst});
    }
  }
}

/// "A - B": every match of A with every match of B.
void add_between(FileBuild& build, NameTree::Place root, const CableSpec& spec, const PatternText& text) {
  const LinkPattern pattern = parse_link_pattern(text);
  if (pattern.is_one_way) {
    text.fail("a cable has two ways; write 'A - B' and give back_bandwidth where they differ");
  }
  if (spec.shape) text.fail("`shape` is for one pattern without a dash");
  for (const NameTree::Match& left : build.names.select(root, pattern.left, text)) {
    const NodeId a = build.names.node_at(left.place, text);
    for (const NameTree::Match& right : build.names.select(root, pattern.right, text, &left.bindings)) {
      add_cable(build, a, build.names.node_at(right.place, text), spec, text);
    }
  }
}

/// One pattern: its nodes among themselves.
void add_among(FileBuild& build, NameTree::Place root, const CableSpec& spec, const config::Cursor& at,
               const PatternText& text) {
  if (!spec.shape) {
    text.fail("expected two ends, 'A - B' with blanks around the dash, or `shape` for one pattern");
  }
  std::vector<NodeId> nodes;
  for (const NameTree::Match& match : build.names.select(root, parse_node_pattern(text, text.text), text)) {
    nodes.push_back(build.names.node_at(match.place, text));
  }
  if (nodes.size() < 2) text.fail("one node cannot be joined to itself; expected a pattern of two or more");
  if (*spec.shape == "full") {
    const auto count = static_cast<double>(nodes.size());
    expect_size(at, 0,
                static_cast<double>(build.draft.graph.edge_count()) +
                    count * (count - 1) / 2 * static_cast<double>(spec.count));
    for (std::size_t a = 0; a < nodes.size(); ++a) {
      for (std::size_t b = a + 1; b < nodes.size(); ++b) add_cable(build, nodes[a], nodes[b], spec, text);
    }
    return;
  }
  for (std::size_t i = 0; i + 1 < nodes.size(); ++i) add_cable(build, nodes[i], nodes[i + 1], spec, text);
  if (*spec.shape == "ring" && nodes.size() > 2) add_cable(build, nodes.back(), nodes.front(), spec, text);
}

void add_pattern(FileBuild& build, NameTree::Place root, const CableSpec& spec, const config::Cursor& at,
                 const PatternText& text) {
  if (spec.duplex == "half" && (spec.back_bandwidth || spec.back_latency)) {
    at.fail("a half-duplex cable has one set of values for both directions");
  }
  if (is_link_pattern(text.text)) {
    add_between(build, root, spec, text);
  } else {
    add_among(build, root, spec, at, text);
  }
}

}  // namespace

void expect_pattern_keys(const config::Cursor& at) {
  if (at.node().entries.size() > kMaxPatternKeys) {
    at.fail(fmt::format("more than {} keys in one mapping; write a list, or fewer and wider patterns",
                        kMaxPatternKeys));
  }
}

void add_links(FileBuild& build, const config::Cursor& links, NameTree::Place root) {
  if (links.node().kind == config::Kind::kSequence) {
    for (std::size_t i = 0; i < links.size(); ++i) {
      const config::Cursor at = links.item(i);
      const auto item = config::read_spec<CableItem>(at);
      add_pattern(build, root, item, at, PatternText::of_value(at.at("between")));
    }
    return;
  }
  links.expect_mapping();
  expect_pattern_keys(links);
  for (const config::Entry& entry : links.node().entries) {
    const PatternText text = PatternText::of_key(links, entry);
    const config::Cursor at = links.at(entry.key);
    if (at.node().kind != config::Kind::kSequence) {
      add_pattern(build, root, config::read_spec<CableSpec>(at), at, text);
      continue;
    }
    for (std::size_t i = 0; i < at.size(); ++i) {  // Cables of different kinds between the same nodes.
      add_pattern(build, root, config::read_spec<CableSpec>(at.item(i)), at.item(i), text);
    }
  }
}

}  // namespace orrery::topology
