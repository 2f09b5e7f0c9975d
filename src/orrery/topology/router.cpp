// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/router.hpp"

#include <algorithm>
#include <vector>

#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/topology/path_search.hpp"
#include "orrery/topology/route_table.hpp"

namespace orrery::topology {
namespace {

std::vector<NodeId> reachable_from(const Graph& graph, NodeId start) {
  std::vector<char> seen(graph.node_count(), 0);
  std::vector<NodeId> reached{start};
  seen[start.index()] = 1;
  for (std::size_t i = 0; i < reached.size(); ++i) {
    for (const Hop& hop : graph.hops(reached[i])) {
      if (seen[hop.target.index()] != 0) continue;
      seen[hop.target.index()] = 1;
      reached.push_back(hop.target);
    }
  }
  return reached;
}

/// "'host[0]' reaches 12 of 52 nodes (switch[0], host[1], ...)". Switches first: a missing cable ends at one.
std::string island(const Graph& graph, NodeId start) {
  constexpr std::size_t kShown = 4;
  const std::vector<NodeId> reached = reachable_from(graph, start);
  if (reached.size() == 1) return fmt::format("'{}' has no link at all", graph.name(start));
  std::vector<std::string> names;
  for (const bool is_switch : {true, false}) {
    for (const NodeId node : reached) {
      if (node == start || (graph.kind(node) == NodeKind::kSwitch) != is_switch) continue;
      if (names.size() < kShown) names.push_back(graph.name(node));
    }
  }
  if (reached.size() - 1 > kShown) names.emplace_back("...");
  return fmt::format("'{}' reaches {} of {} nodes ({})", graph.name(start), reached.size(),
                     graph.node_count(), join(names, ", "));
}

[[noreturn]] void fail_unreachable(const Graph& graph, NodeId source, NodeId target) {
  throw InputError{fmt::format("no path from '{}' to '{}': {}, {}, and no link joins the two parts",
                               graph.name(source), graph.name(target), island(graph, source),
                               island(graph, target))};
}

}  // namespace

struct Router::State {
  explicit State(const Graph& graph) : search{graph} {}
  detail::PathSearch search;
  detail::RouteTable table;
  std::vector<LinkId> links;  // Of the route being found.
};

Router::Router(const Graph& graph) : graph_{graph}, state_{std::make_unique<State>(graph)} {}
Router::~Router() = default;

RouteId Router::route(NodeId source, NodeId target, std::uint32_t label) {
  ORRERY_CHECK(source.index() < graph_.node_count() && target.index() < graph_.node_count(), "unknown node");
  const detail::RouteKey key{source.value(), target.value(), label};
  const std::size_t place = state_->table.find(key);
  if (const RouteId known = state_->table.at(place); known.is_valid()) return known;

  detail::PathSearch& search = state_->search;
  std::vector<LinkId>& links = state_->links;
  links.clear();
  // An end with one cable leaves no choice: search between the nodes it hangs on. Under one switch, that is all.
  NodeId from = source;
  NodeId to = target;
  LinkId last;
  if (const Hop* hop = search.only_hop(from); hop != nullptr && from != to) {
    links.push_back(hop->link);
    from = hop->target;
  }
  if (const Hop* hop = search.only_hop(to); hop != nullptr && from != to) {
    last = search.reverse(hop->link);
    to = hop->target;
  }
  if (!search.find(from, to, detail::hash_of(key), links)) fail_unreachable(graph_, source, target);
  if (last.is_valid()) links.push_back(last);
  return state_->table.add(place, key, links);
}

void Router::expect(std::size_t routes) { state_->table.reserve(routes); }

std::span<const LinkId> Router::links(RouteId route) const { return state_->table.links(route); }

Route Router::get(RouteId route) const {
  Route result{.links = links(route), .latency = {}, .bottleneck = {}};
  for (const LinkId id : result.links) {
    const LinkSpec& link = graph_.link(id);
    result.latency =
        link.latency > Duration::max() - result.latency ? Duration::max() : result.latency + link.latency;
    const bool is_first = result.bottleneck == Bandwidth{};
    result.bottleneck = is_first ? link.bandwidth : std::min(result.bottleneck, link.bandwidth);
  }
  return result;
}

}  // namespace orrery::topology
