// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A rooted tree over participants 0..size-1, with what the tree schedules ask of it.
#include <span>
#include <vector>

#include "orrery/collectives/schedule.hpp"

namespace orrery::collectives::plan {

class Tree {
 public:
  /// `parent` gives each participant's parent, the root's being itself. Children stand in the order in which
  /// `order` names them: the order in which a parent sends to them. Anything but one tree is a bug.
  Tree(std::vector<Rank> parent, std::span<const Rank> order);
  /// Children in ascending order.
  explicit Tree(const std::vector<Rank>& parent);

  [[nodiscard]] Rank size() const { return static_cast<Rank>(parent_.size()); }
  [[nodiscard]] Rank root() const { return root_; }
  [[nodiscard]] bool is_root(Rank who) const { return who == root_; }
  [[nodiscard]] Rank parent(Rank who) const { return parent_[who]; }
  [[nodiscard]] std::span<const Rank> children(Rank who) const {
    return std::span{children_}.subspan(first_child_[who], child_count(who));
  }
  [[nodiscard]] std::uint32_t child_count(Rank who) const {
    return first_child_[who + 1] - first_child_[who];
  }
  /// Children and parent. As a peer number, child i is i and the parent is child_count().
  [[nodiscard]] std::uint32_t degree(Rank who) const { return child_count(who) + (is_root(who) ? 0 : 1); }
  [[nodiscard]] std::vector<Rank> neighbours(Rank who) const;
  /// Edges between a participant and the root.
  [[nodiscard]] std::uint32_t depth(Rank who) const { return depth_[who]; }
  /// Edges to the farthest participant below.
  [[nodiscard]] std::uint32_t height(Rank who) const { return height_[who]; }
  /// Participants at and below `who` are preorder()[place(who)], and the weight(who)-1 after it.
  [[nodiscard]] std::span<const Rank> preorder() const { return preorder_; }
  [[nodiscard]] std::uint32_t place(Rank who) const { return place_[who]; }
  [[nodiscard]] std::uint32_t weight(Rank who) const { return weight_[who]; }
  /// The peer number of the neighbour of `who` on the way to `target`, another participant.
  [[nodiscard]] std::uint32_t towards(Rank who, Rank target) const;

 private:
  void measure();

  std::vector<Rank> parent_;
  Rank root_ = 0;
  std::vector<std::uint32_t> first_child_;  // Index into children_; one more entry than participants.
  std::vector<Rank> children_;
  std::vector<std::uint32_t> depth_;
  std::vector<std::uint32_t> height_;
  std::vector<std::uint32_t> weight_;
  std::vector<std::uint32_t> place_;
  std::vector<Rank> preorder_;
};

/// Why `parent` is not a tree ("participant 3 is on a cycle"), or "" when it is one.
[[nodiscard]] std::string tree_defect(std::span<const Rank> parent);

/// The same edges seen from another root.
[[nodiscard]] std::vector<Rank> rerooted(std::vector<Rank> parent, Rank root);

}  // namespace orrery::collectives::plan
