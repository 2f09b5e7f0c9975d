// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/draw/bundles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

#include "orrery/base/text.hpp"

namespace orrery::topology {
namespace {

bool is_digits(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) { return c >= '0' && c <= '9'; });
}

/// What makes two links alike.
using Likeness = std::tuple<std::uint32_t, std::uint32_t, Bandwidth, Duration, Bandwidth, Duration, Bytes, bool>;

}  // namespace

std::string stem_of(std::string_view name) {
  std::string stem;
  for (const std::string_view part : split(name, '.')) {
    if (is_digits(part)) continue;
    if (!stem.empty()) stem += '.';
    stem += part.substr(0, part.find('['));
  }
  return stem;
}

Bundles bundle_links(const Graph& graph) {
  std::map<std::string, std::uint32_t, std::less<>> stems;
  std::vector<std::uint32_t> stem_of_node(graph.node_count());
  std::vector<const std::string*> stem_names;
  for (std::size_t node = 0; node < graph.node_count(); ++node) {
    const auto [found, is_new] =
        stems.emplace(stem_of(graph.name(NodeId{node})), static_cast<std::uint32_t>(stem_names.size()));
    if (is_new) stem_names.push_back(&found->first);
    stem_of_node[node] = found->second;
  }
  Bundles bundles;
  std::map<Likeness, std::uint32_t> known;
  std::map<std::tuple<NodeId, NodeId, std::uint32_t>, std::size_t> pairs;
  constexpr std::size_t kCountPairsUpTo = 200'000;  // Beyond this `per_pair` is not worth the memory.
  for (const Graph::Edge& edge : graph.edges()) {
    const LinkSpec& forward = graph.link(edge.forward);
    const LinkSpec& backward = graph.link(edge.backward);
    const bool is_half = edge.forward == edge.backward;
    const std::uint32_t a = stem_of_node[edge.a.index()];
    const std::uint32_t b = stem_of_node[edge.b.index()];
    const Likeness likeness{
        a, b, forward.bandwidth, forward.latency, backward.bandwidth, backward.latency, forward.burst, is_half};
    const auto [found, is_new] = known.emplace(likeness, static_cast<std::uint32_t>(bundles.all.size()));
    if (is_new) {
      bundles.all.push_back({.ends = fmt::format("{} - {}", *stem_names[a], *stem_names[b]),
                             .forward = forward,
                             .backward = backward,
                             .is_half_duplex = is_half});
    }
    Bundle& bundle = bundles.all[found->second];
    ++bundle.count;
    bundles.of_edge.push_back(found->second);
    if (graph.edge_count() <= kCountPairsUpTo) {
      const auto [low, high] = std::minmax(edge.a, edge.b);
      bundle.per_pair = std::max(bundle.per_pair, ++pairs[{low, high, found->second}]);
    }
  }
  return bundles;
}

std::string describe(const Bundle& bundle) {
  std::string text = fmt::format("{} x {}, {}", grouped(bundle.count), rate_text(bundle.forward.bandwidth),
                                 to_text(bundle.forward.latency));
  const bool is_uneven = bundle.forward.bandwidth != bundle.backward.bandwidth ||
                         bundle.forward.latency != bundle.backward.latency;
  if (is_uneven) {
    text +=
        fmt::format(" (back {}, {})", rate_text(bundle.backward.bandwidth), to_text(bundle.backward.latency));
  }
  if (bundle.is_half_duplex) text += ", half duplex";
  if (bundle.per_pair > 1) text += fmt::format(", {} per pair", bundle.per_pair);
  return text;
}

std::string rate_text(Bandwidth bandwidth) {
  constexpr std::int64_t kTerabit = 1'000'000'000'000;
  if (bandwidth.bits_per_second() < kTerabit) return to_text(bandwidth);
  return fmt::format("{}GB/s", static_cast<double>(bandwidth.bits_per_second()) / 8e9);
}

std::string grouped(std::size_t number) {
  std::string text = fmt::format("{}", number);
  for (std::size_t place = text.size(); place > 3; place -= 3) text.insert(place - 3, 1, ',');
  return text;
}

}  // namespace orrery::topology
