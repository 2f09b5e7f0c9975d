// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/infragraph/annotations.hpp"

#include <algorithm>
#include <array>

#include "orrery/base/check.hpp"
#include "orrery/base/text.hpp"
#include "orrery/topology/infragraph/node_names.hpp"

namespace orrery::topology::infragraph {
namespace {

using Word = std::string_view;

class AnnotationReader {
 public:
  AnnotationReader(const Reader& reader, const Expansion& expansion, const Layouts& layouts,
                   const std::vector<NodeKind>& kinds)
      : reader_{reader}, expansion_{expansion}, names_{expansion, layouts}, kinds_{kinds} {}

  Annotations read(const Field& field) {
    field.expect_keys(std::array<Word, 4>{"nodes", "edges", "links", "graph"});
    for_each(field, "nodes", [&](const Field& node) { read_node(node); });
    for_each(field, "links", [&](const Field& link) { read_link(link); });
    for_each(field, "edges", [&](const Field& edge) { read_edge(edge); });
    if (const auto nodes = field.find("nodes")) place_ranks(*nodes);
    return std::move(result_);
  }

 private:
  struct PlacedRank {
    std::int64_t rank;
    std::uint32_t node;
  };

  template <class Read>
  static void for_each(const Field& field, Word key, const Read& read) {
    if (const auto list = field.find(key)) list->for_each_item(read);
  }

  /// Calls `visit(attribute, value)`; upstream writes every value as text, people also write numbers.
  template <class Visit>
  static void for_each_attribute(const Field& field, const Visit& visit) {
    for_each(field, "attributes", [&](const Field& pair) {
      pair.expect_keys(std::array<Word, 2>{"attribute", "value"});
      const Word attribute = pair.required("attribute").text();
      if (const auto value = pair.find("value")) visit(attribute, *value);
    });
  }

  void read_node(const Field& field) {
    field.expect_keys(std::array<Word, 2>{"name", "attributes"});
    for_each_attribute(field, [&](Word attribute, const Field& value) {
      if (attribute != "rank") return;
      const Field name = field.required("name");
      std::vector<std::uint32_t> nodes;
      const std::vector<NodeRange> ranges = names_.resolve(name);
      const bool is_one = ranges.size() == 1 && ranges.front().size == 1;
      for (const NodeRange& range : ranges) {
        names_.charge(range.size, name);
        for (std::uint32_t node = range.first; node < range.first + range.size; ++node) {
          if (is_one || kinds_[node] == NodeKind::kDevice) nodes.push_back(node);
        }
      }
      if (nodes.size() != 1) name.fail(fmt::format("a rank belongs to one xpu; this names {}", nodes.size()));
      for (const Word text : split(value.text("expected a rank"), ',')) {
        const auto rank = parse_integer(trim(text));
        if (!rank || *rank < 0 || *rank > reader_.max_count) value.fail("expected a rank: 0, 1, 2, ...");
        placed_.push_back({*rank, nodes.front()});
      }
    });
  }

  void place_ranks(const Field& nodes) {
    std::ranges::sort(placed_, {}, &PlacedRank::rank);
    for (std::size_t i = 0; i < placed_.size(); ++i) {
      const auto expected = static_cast<std::int64_t>(i);
      if (placed_[i].rank < expected) nodes.fail(fmt::format("rank {} is given twice", placed_[i].rank));
      if (placed_[i].rank > expected) {
        nodes.fail(fmt::format("rank {} is missing: {} ranks are given, the highest is {}", i, placed_.size(),
                               placed_.back().rank));
      }
      result_.ranks.push_back(placed_[i].node);
    }
  }

  /// Reads the attributes that describe a link. `link` is its name, which says how wide a lane-wise one is.
  LinkOverride read_override(const Field& field, Word link) const {
    LinkOverride result;
    for_each_attribute(field, [&](Word attribute, const Field& value) {
      if (attribute == "bandwidth") result.bandwidth = read_bandwidth(value, link);
      if (attribute == "back_bandwidth") result.back_bandwidth = read_bandwidth(value, link);
      if (attribute == "latency") result.latency = read_latency(value);
      if (attribute == "back_latency") result.back_latency = read_latency(value);
      if (attribute == "duplex") result.is_half_duplex = value.word(std::array<Word, 2>{"full", "half"}) == 1;
      if (attribute == "cables") {
        result.cables = value.count();
        constexpr std::uint32_t kMostCables = 1024;
        if (*result.cables < 1 || *result.cables > kMostCables) {
          value.fail(fmt::format("expected a whole number from 1 to {}", kMostCables));
        }
      }
    });
    return result;
  }

  static Duration read_latency(const Field& value) {
    const auto latency = parse_duration(value.text("expected a duration"));
    if (!latency) value.fail("expected a duration with unit, such as '500 ns'");
    return *latency;
  }

  static Bandwidth read_bandwidth(const Field& value, Word link) {
    const Word text = value.text("expected a bandwidth");
    constexpr Word kTransfers = "GT/s";
    const bool is_per_lane = text.ends_with(kTransfers);
    const auto lane =
        is_per_lane
            ? parse_bandwidth(fmt::format("{}Gbps", trim(text.substr(0, text.size() - kTransfers.size()))))
            : parse_bandwidth(text);
    if (!lane || lane->bits_per_second() == 0) {
      value.fail("expected a bandwidth with unit, such as '400 Gbps'");
    }
    return is_per_lane ? from_lanes(link, *lane) : *lane;
  }

  void read_link(const Field& field) {
    field.expect_keys(std::array<Word, 2>{"name", "attributes"});
    const Field name = field.required("name");
    const Word link = name.text();
    const bool is_known = std::ranges::find(expansion_.links, link, &LinkUse::name) != expansion_.links.end();
    if (!is_known && !reader_.lenient) {
      std::vector<std::string> names;
      for (const LinkUse& use : expansion_.links) names.emplace_back(use.name);
      name.fail("no link has this name", nearest_name(link, names));
    }
    result_.by_link[link].update(read_override(field, link));
  }

  void read_edge(const Field& field) {
    field.expect_keys(std::array<Word, 3>{"ep1", "ep2", "attributes"});
    const Field first = field.required("ep1");
    const Field second = field.required("ep2");
    const std::vector<NodeRange> from = names_.resolve(first);
    const std::vector<NodeRange> to = names_.resolve(second);
    const std::vector<std::uint32_t> edges = edges_between(from, to, field);
    if (edges.empty() && !reader_.lenient) second.fail(fmt::format("no edge joins it to '{}'", first.text()));
    for (const std::uint32_t edge : edges) {
      result_.by_edge[edge].update(read_override(field, expansion_.links[expansion_.edges[edge].link].name));
    }
  }

  static std::uint64_t pair_key(std::uint32_t a, std::uint32_t b) {
    return std::uint64_t{std::min(a, b)} << 32 | std::max(a, b);
  }

  std::vector<std::uint32_t> edges_between(const std::vector<NodeRange>& from,
                                           const std::vector<NodeRange>& to, const Field& field) {
    const bool is_pair = from.size() == 1 && to.size() == 1 && from[0].size == 1 && to[0].size == 1;
    if (is_pair) {
      if (edge_of_.empty()) {
        for (std::uint32_t i = 0; i < expansion_.edges.size(); ++i) {
          edge_of_.emplace(pair_key(expansion_.edges[i].a, expansion_.edges[i].b), i);
        }
      }
      const auto found = edge_of_.find(pair_key(from[0].first, to[0].first));
      return found == edge_of_.end() ? std::vector<std::uint32_t>{} : std::vector{found->second};
    }
    // Prefixes and slices are rare and written by hand; each looks through all edges, within reason.
    names_.charge(std::uint64_t{expansion_.edges.size()} * (from.size() + to.size()), field);
    const auto is_in = [](const std::vector<NodeRange>& ranges, std::uint32_t node) {
      return std::ranges::any_of(ranges, [&](const NodeRange& range) { return range.contains(node); });
    };
    std::vector<std::uint32_t> edges;
    for (std::uint32_t i = 0; i < expansion_.edges.size(); ++i) {
      const ExpandedEdge& edge = expansion_.edges[i];
      if ((is_in(from, edge.a) && is_in(to, edge.b)) || (is_in(from, edge.b) && is_in(to, edge.a))) {
        edges.push_back(i);
      }
    }
    return edges;
  }

  const Reader& reader_;
  const Expansion& expansion_;
  NodeNames names_;
  const std::vector<NodeKind>& kinds_;
  Annotations result_;
  std::vector<PlacedRank> placed_;
  std::unordered_map<std::uint64_t, std::uint32_t> edge_of_;  // Looked up only.
};

}  // namespace

Annotations read_annotations(const Reader& reader, const Expansion& expansion, const Layouts& layouts,
                             const std::vector<NodeKind>& kinds) {
  const Field root{reader, reader.document.root()};
  const auto field = root.find("annotations");
  if (!field || !root.find("infrastructure")) return {};
  return AnnotationReader{reader, expansion, layouts, kinds}.read(*field);
}

}  // namespace orrery::topology::infragraph
