// SPDX-License-Identifier: Apache-2.0
// Overrides, events and jitter: what refers to links and devices that are already there.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <tuple>

#include "orrery/topology/cluster_file_build.hpp"

namespace orrery::topology {
namespace {

constexpr std::size_t kMaxEvents = 4'000'000;

/// Links by their two ends, found by binary search.
class LinkIndex {
 public:
  explicit LinkIndex(const Graph& graph) {
    rows_.reserve(graph.link_count());
    for (const Graph::Edge& edge : graph.edges()) {
      rows_.push_back({edge.a, edge.b, edge.forward});
      rows_.push_back({edge.b, edge.a, edge.backward});
    }
    std::ranges::sort(rows_);
  }
  /// The links from `source` to `target`.
  template <class Visitor>
  bool visit(NodeId source, NodeId target, Visitor&& visitor) const {
    auto row = std::ranges::lower_bound(rows_, Row{source, target, LinkId{0U}});
    const auto first = row;
    for (; row != rows_.end() && std::get<0>(*row) == source && std::get<1>(*row) == target; ++row) {
      visitor(std::get<2>(*row));
    }
    return row != first;
  }

 private:
  using Row = std::tuple<NodeId, NodeId, LinkId>;
  std::vector<Row> rows_;
};

/// The links a pattern names, sorted, each once. Pairs without a link are an error only if there is none at all.
std::vector<LinkId> select_links(const FileBuild& build, const LinkIndex& index, const PatternText& text) {
  const LinkPattern pattern = parse_link_pattern(text);
  std::vector<LinkId> links;
  const auto add = [&](LinkId link) { links.push_back(link); };
  for (const NameTree::Match& left : build.names.select(NameTree::kRoot, pattern.left, text)) {
    const NodeId a = build.names.node_at(left.place, text);
    for (const NameTree::Match& right :
         build.names.select(NameTree::kRoot, pattern.right, text, &left.bindings)) {
      const NodeId b = build.names.node_at(right.place, text);
      index.visit(a, b, add);
      if (!pattern.is_one_way) index.visit(b, a, add);
    }
  }
  if (links.empty()) text.fail("no link joins these nodes");
  std::ranges::sort(links);
  links.erase(std::unique(links.begin(), links.end()), links.end());
  return links;
}

/// New kinds for the endpoints that a pattern names: their present kind with the given fields replaced.
void override_devices(FileBuild& build, const std::vector<std::uint32_t>& endpoint_of_node,
                      const PatternText& text, const config::Cursor& at) {
  Draft& draft = build.draft;
  std::map<std::uint32_t, std::uint32_t> replacement;
  bool is_any = false;
  for (const NameTree::Match& match :
       build.names.select(NameTree::kRoot, parse_node_pattern(text, text.text), text)) {
    for (const NodeId node : build.names.nodes_below(match.place, text)) {
      const std::uint32_t endpoint = endpoint_of_node[node.index()];
      if (endpoint == kNoEndpoint) continue;
      is_any = true;
      std::uint32_t& kind = draft.endpoint_device[endpoint];
      const auto [found, is_new] =
          replacement.emplace(kind, static_cast<std::uint32_t>(draft.devices.size()));
      if (is_new) {
        DeviceFields fields;
        static_cast<DeviceSpec&>(fields) = draft.devices[kind];
        if (at.node().kind == config::Kind::kMapping && at.has("base")) {
          static_cast<DeviceSpec&>(fields) =
              build.devices.get(at.at("base").scalar("the name of a device"), at.at("base"));
        }
        read_device(at, fields);
        draft.devices.push_back(fields);
      }
      kind = found->second;
    }
  }
  if (!is_any) text.fail("no device is among these nodes");
}

LinkEvent event_of(const EventSpec& spec, LinkId link) {
  LinkEvent event{
      .at = Time{spec.at}, .link = link, .bandwidth = spec.bandwidth, .latency = spec.latency, .up = {}};
  if (spec.state) event.up = *spec.state == "up";
  return event;
}

/// The end of an event with `for`: what it changed is as the file describes it again.
LinkEvent end_of(const EventSpec& spec, LinkId link, const LinkSpec& described) {
  LinkEvent event{.at = saturating_add(Time{spec.at}, *spec.lasts),
                  .link = link,
                  .bandwidth = {},
                  .latency = {},
                  .up = {}};
  if (spec.bandwidth) event.bandwidth = described.bandwidth;
  if (spec.latency) event.latency = described.latency;
  if (spec.state) event.up = *spec.state != "up";
  return event;
}

/// By time, then link; what happens to a link at one instant stays in the order of the file.
std::vector<LinkEvent> sorted(const std::vector<LinkEvent>& changes) {
  std::vector<std::size_t> order(changes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t i) { return std::tuple{changes[i].at, changes[i].link, i}; });
  std::vector<LinkEvent> result;
  result.reserve(changes.size());
  for (const std::size_t i : order) result.push_back(changes[i]);
  return result;
}

}  // namespace

void apply_overrides(FileBuild& build, const config::Cursor& overrides) {
  overrides.expect_mapping();
  expect_pattern_keys(overrides);
  const LinkIndex index{build.draft.graph};
  const std::vector<std::uint32_t> endpoint_of_node = endpoints_by_node(build.draft);
  for (const config::Entry& entry : overrides.node().entries) {
    const PatternText text = PatternText::of_key(overrides, entry);
    const config::Cursor at = overrides.at(entry.key);
    if (!is_link_pattern(entry.key)) {
      override_devices(build, endpoint_of_node, text, at);
      continue;
    }
    const auto values = config::read_spec<LinkOverride>(at);
    for (const LinkId link : select_links(build, index, text)) {
      const LinkSpec& described = build.draft.graph.link(link);
      build.draft.graph.set_link(
          link, {values.bandwidth.value_or(described.bandwidth), values.latency.value_or(described.latency),
                 described.burst});
    }
  }
}

std::vector<LinkEvent> read_events(const FileBuild& build, const config::Cursor& events) {
  const LinkIndex index{build.draft.graph};
  std::vector<LinkEvent> changes;
  for (std::size_t i = 0; i < events.size(); ++i) {
    const config::Cursor at = events.item(i);
    const auto spec = config::read_spec<EventSpec>(at);
    if (!spec.bandwidth && !spec.latency && !spec.state) {
      at.fail("expected a change: bandwidth, latency or state");
    }
    for (const LinkId link : select_links(build, index, PatternText::of_value(at.at("link")))) {
      changes.push_back(event_of(spec, link));
      if (spec.lasts) changes.push_back(end_of(spec, link, build.draft.graph.link(link)));
      if (changes.size() > kMaxEvents) at.fail(fmt::format("more than {} changes of links", kMaxEvents));
    }
  }
  return sorted(changes);
}

std::vector<LinkJitter> read_jitter(const FileBuild& build, const config::Cursor& jitter) {
  jitter.expect_mapping();
  expect_pattern_keys(jitter);
  const LinkIndex index{build.draft.graph};
  std::map<LinkId, Duration> amplitudes;  // A later pattern replaces what an earlier, wider one said.
  for (const config::Entry& entry : jitter.node().entries) {
    const auto amplitude =
        config::Codec<Duration>::read(jitter.at(entry.key), config::Rule{.positive = true});
    for (const LinkId link : select_links(build, index, PatternText::of_key(jitter, entry))) {
      amplitudes[link] = amplitude;
    }
  }
  std::vector<LinkJitter> result;
  for (const auto& [link, amplitude] : amplitudes) result.push_back({link, amplitude});
  return result;
}

}  // namespace orrery::topology
