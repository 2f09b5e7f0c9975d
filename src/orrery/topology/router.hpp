// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Routes: fewest hops, then least latency, then a deterministic hash among equals (ECMP).
///
/// Found on demand by a search from both ends and interned, so memory grows with the pairs that talk, not
/// with the square of the endpoints. Static: link events change what a link carries, not where bytes go.
#include <cstdint>
#include <memory>
#include <span>

#include "orrery/base/pinned.hpp"
#include "orrery/topology/graph.hpp"

namespace orrery::topology {

using RouteId = Id<struct RouteTag>;

struct Route {
  std::span<const LinkId> links;  ///< In order of travel; empty when source is target.
  Duration latency{};             ///< Sum over links, as described (before link events).
  Bandwidth bottleneck;           ///< Smallest on the way; 0 when there are no links.
};

class Router : Pinned {
 public:
  /// `graph` is finished and outlives the router.
  explicit Router(const Graph& graph);
  ~Router();
  /// The route of `label` (flows of different labels may take different equal paths). The same arguments
  /// always give the same path, whatever was asked before. InputError names both ends and where the graph
  /// is cut when there is none.
  [[nodiscard]] RouteId route(NodeId source, NodeId target, std::uint32_t label = 0);
  /// So many new routes are about to be asked for. A hint: only speed changes.
  void expect(std::size_t routes);
  [[nodiscard]] Route get(RouteId route) const;
  /// get(), in two parts for hot paths. The links stay where they are as long as the router lives.
  [[nodiscard]] std::span<const LinkId> links(RouteId route) const;
  [[nodiscard]] const Graph& graph() const { return graph_; }

 private:
  struct State;
  const Graph& graph_;
  std::unique_ptr<State> state_;
};

}  // namespace orrery::topology
