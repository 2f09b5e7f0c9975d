// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The explicit graph of a cluster: nodes and directed links. Pure data, no time.
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/id.hpp"
#include "orrery/base/text.hpp"
#include "orrery/base/units.hpp"

namespace orrery::topology {

using NodeId = Id<struct NodeTag>;
using LinkId = Id<struct LinkTag>;  ///< One direction of a cable, or both when the cable is half duplex.

enum class NodeKind : std::uint8_t { kDevice, kSwitch, kNic, kCpu, kMemory, kPort, kOther };
using orrery::to_text;  // Else the overload below would hide those of durations and bandwidths.
[[nodiscard]] std::string_view to_text(NodeKind kind);

/// What a link can carry.
struct LinkSpec {
  Bandwidth bandwidth;
  Duration latency{};
  Bytes burst{};  ///< Of a limit that is a token bucket: so much passes at once after a rest.
};

/// The way out of a node: over `link` to `target`.
struct Hop {
  NodeId target;
  LinkId link;
};

/// Nodes and links are numbered in the order they are added; names are paths such as "node[3].gpu[1]".
class Graph {
 public:
  NodeId add_node(std::string name, NodeKind kind);
  /// A cable between two different nodes. Full duplex makes two links (a to b first), half duplex one.
  LinkId connect(NodeId a, NodeId b, const LinkSpec& spec, bool half_duplex = false);
  /// Gives one link other values than its cable was made with, before finish(): the two directions of a
  /// cable may differ.
  void set_link(LinkId link, const LinkSpec& spec);
  /// Call once, after the last connect(): sorts the hops of each node by (target, link).
  void finish();

  [[nodiscard]] std::size_t node_count() const { return kinds_.size(); }
  [[nodiscard]] std::size_t link_count() const { return specs_.size(); }
  /// Cables, whatever their duplex.
  [[nodiscard]] std::size_t edge_count() const { return edges_.size(); }
  [[nodiscard]] const std::string& name(NodeId node) const { return names_[node.index()]; }
  [[nodiscard]] NodeKind kind(NodeId node) const { return kinds_[node.index()]; }
  [[nodiscard]] const LinkSpec& link(LinkId link) const { return specs_[link.index()]; }
  /// "node[0].gpu[1]->switch[0]".
  [[nodiscard]] std::string link_name(LinkId link) const;
  /// Ways out of `node`, sorted. finish() must have run.
  [[nodiscard]] std::span<const Hop> hops(NodeId node) const {
    return {hops_.data() + first_hop_[node.index()], hops_.data() + first_hop_[node.index() + 1]};
  }
  /// The node of that name; an invalid id when there is none. Linear: for messages and tests.
  [[nodiscard]] NodeId find(std::string_view name) const;

  struct Edge {
    NodeId a;
    NodeId b;
    LinkId forward;   ///< a to b.
    LinkId backward;  ///< b to a; equal to `forward` when half duplex.
  };
  [[nodiscard]] std::span<const Edge> edges() const { return edges_; }
  /// Number of connected components.
  [[nodiscard]] std::size_t component_count() const;

 private:
  std::vector<std::string> names_;
  std::vector<NodeKind> kinds_;
  std::vector<LinkSpec> specs_;
  std::vector<std::uint32_t> link_edge_;  // Edge of each link.
  std::vector<Edge> edges_;
  std::vector<Hop> hops_;
  std::vector<std::uint32_t> first_hop_;
};

}  // namespace orrery::topology
