// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The nodes of a draft as a tree of their names, where patterns are looked up. "host[3].gpu[1]" stands under
/// "host[3]"; a place that is no node itself, such as a host made of parts, is a container.
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/topology/cluster_file_pattern.hpp"
#include "orrery/topology/graph.hpp"

namespace orrery::topology {

class NameTree {
 public:
  using Place = std::uint32_t;
  static constexpr Place kRoot = 0;

  /// Values of a pattern's variables. Small, because a pattern may match millions of places.
  class Bindings {
   public:
    static constexpr std::size_t kMax = 4;
    /// The value of `variable`, or -1.
    [[nodiscard]] std::int64_t value(char variable) const;
    /// False when there are too many variables.
    [[nodiscard]] bool bind(char variable, std::int64_t value);

   private:
    std::array<char, kMax> variables_{};
    std::array<std::int32_t, kMax> values_{};
  };

  struct Match {
    Place place = kRoot;
    Bindings bindings;
  };

  /// The place `name[index]` under `parent`, made when it is not there yet.
  Place add(Place parent, std::string_view name, std::int64_t index);
  /// add() along the whole path of a graph's node name.
  void add_path(std::string_view path, NodeId node);
  void set_node(Place place, NodeId node) { places_[place].node = node; }
  [[nodiscard]] bool has(Place parent, std::string_view name) const {
    return find_child(parent, name) != nullptr;
  }

  /// Places under `root` that match, in order of their indices. Errors when a name or index does not exist.
  /// Variables run over all, except on the right of a link, where they have the left side's values (`bound`).
  [[nodiscard]] std::vector<Match> select(Place root, const NodePattern& pattern, const PatternText& text,
                                          const Bindings* bound = nullptr) const;
  /// The node at `place`; errors when it is a container.
  [[nodiscard]] NodeId node_at(Place place, const PatternText& text) const;
  /// The nodes at and below `place`, in order.
  [[nodiscard]] std::vector<NodeId> nodes_below(Place place, const PatternText& text) const;

 private:
  struct Child {
    std::string name;
    std::vector<Place> by_index;  // 0 (the root is nobody's child) where there is none.
  };
  struct Vertex {
    NodeId node;
    std::vector<Child> children;
  };
  [[nodiscard]] const Child* find_child(Place parent, std::string_view name) const;
  [[nodiscard]] std::vector<std::string> child_names(Place parent) const;
  void extend(const Match& match, const Segment& segment, const PatternText& text, bool defines,
              std::vector<Match>& matches) const;

  /// Errors when the patterns of a file have named more than any real one does: a few bytes must not buy hours.
  void charge(std::size_t places, const PatternText& text) const;

  std::vector<Vertex> places_{1};
  mutable std::size_t charged_ = 0;  // The one thing a lookup changes.
};

}  // namespace orrery::topology
