// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/tree_flow.hpp"

#include <algorithm>
#include <utility>

#include "orrery/base/check.hpp"
#include "orrery/collectives/plan/blocks.hpp"

namespace orrery::collectives::plan {

TreeFlow::TreeFlow(Spec spec)
    : ranks_{spec.ranks},
      trees_{std::move(spec.trees)},
      pieces_{spec.pieces},
      up_{spec.up},
      down_{spec.down},
      add_{spec.adds ? ActionKind::kReceiveReduce : ActionKind::kReceive} {
  ORRERY_CHECK(!trees_.empty() && (up_ || down_), "{} trees, nothing to do", trees_.size());
  for (const Tree& tree : trees_) {
    ORRERY_CHECK(tree.size() == trees_.front().size() && tree.size() >= ranks_, "a tree of {} for {} ranks",
                 tree.size(), ranks_);
  }
}

std::uint32_t TreeFlow::chunk_count() const { return lanes(0) * pieces_; }

std::vector<Rank> TreeFlow::peers(Rank rank, std::uint32_t lane) const {
  return trees_[lane].neighbours(rank);
}

std::uint64_t TreeFlow::length(Rank rank, std::uint32_t lane) const {
  return std::uint64_t{trees_[lane].degree(rank)} * pieces_ * ((up_ ? 1U : 0U) + (down_ ? 1U : 0U));
}

TreeFlow::Turn TreeFlow::turn_at(const Tree& tree, Rank who, std::uint32_t position) const {
  if (!down_) return {true, position};
  if (!up_) return {false, position};
  const std::uint32_t to_top = tree.height(tree.root()) - tree.height(who);
  const std::uint32_t lag = std::min(pieces_, to_top + tree.depth(who));
  if (position < lag) return {true, position};
  const std::uint32_t after = position - lag;
  const std::uint32_t pairs = pieces_ - lag;
  if (after >= 2 * pairs) return {false, after - pairs};
  const bool is_up = (after & 1) == 0;
  return {is_up, after / 2 + (is_up ? lag : 0)};
}

Action TreeFlow::action(Rank rank, std::uint32_t lane, std::uint64_t index) const {
  const Tree& tree = trees_[lane];
  const std::uint32_t degree = tree.degree(rank);
  const std::uint32_t children = tree.child_count(rank);
  const auto number = static_cast<std::uint32_t>(index);
  const Turn turn = turn_at(tree, rank, number / degree);
  const std::uint32_t part = number % degree;
  const std::uint32_t chunk = lane * pieces_ + turn.piece;
  if (turn.is_up) {
    // Children are sent to in the order of their need, deepest first; so the last of them reports first.
    if (part < children) return {add_, children - 1 - part, {chunk, 1, false}};
    return {ActionKind::kSend, children, {chunk, 1, false}};
  }
  if (tree.is_root(rank)) return {ActionKind::kSend, part, {chunk, 1, false}};
  if (part == 0) return {ActionKind::kReceive, children, {chunk, 1, false}};
  return {ActionKind::kSend, part - 1, {chunk, 1, false}};
}

std::unique_ptr<Schedule> flow(Operation operation, Rank ranks, std::vector<Tree> trees,
                               std::uint32_t pieces) {
  const bool is_barrier = operation == Operation::kBarrier;
  return std::make_unique<TreeFlow>(TreeFlow::Spec{
      .ranks = ranks,
      .trees = std::move(trees),
      .pieces = is_barrier ? 1 : pieces,
      .up = operation != Operation::kBroadcast && operation != Operation::kSendReceive,
      .down = operation != Operation::kReduce,
      .adds = !is_barrier,
  });
}

Bytes flow_bytes(Operation operation, Rank participants, const Layout& layout) {
  const bool both_ways = operation == Operation::kAllReduce || operation == Operation::kBarrier;
  return total_bytes(layout) * (participants - 1) * (both_ways ? 2 : 1);
}

}  // namespace orrery::collectives::plan
