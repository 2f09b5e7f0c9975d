// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/tree_blocks.hpp"

#include <utility>

namespace orrery::collectives::plan {

TreeBlocks::TreeBlocks(Tree tree, Direction direction) : tree_{std::move(tree)}, direction_{direction} {}

std::vector<Rank> TreeBlocks::peers(Rank rank, std::uint32_t) const { return tree_.neighbours(rank); }

std::uint64_t TreeBlocks::length(Rank rank, std::uint32_t) const { return tree_.degree(rank); }

/// The blocks at and below `rank`; a leaf's own needs no list.
ChunkRange TreeBlocks::below(Rank rank) const {
  const std::uint32_t weight = tree_.weight(rank);
  if (weight == 1) return {rank, 1, false};
  return {tree_.place(rank), weight, true};
}

Action TreeBlocks::action(Rank rank, std::uint32_t, std::uint64_t index) const {
  const auto children = tree_.children(rank);
  const std::uint32_t count = tree_.child_count(rank);
  const auto turn = static_cast<std::uint32_t>(index);
  if (direction_ == Direction::kGather) {
    if (turn == count) return {ActionKind::kSend, count, below(rank)};
    const std::uint32_t child = count - 1 - turn;  // The largest subtree, sent to first, reports last.
    return {ActionKind::kReceive, child, below(children[child])};
  }
  const std::uint32_t received = tree_.is_root(rank) ? 0 : 1;
  if (turn < received) return {ActionKind::kReceive, count, below(rank)};
  return {ActionKind::kSend, turn - received, below(children[turn - received])};
}

std::unique_ptr<Schedule> move_blocks(Operation operation, Tree tree) {
  using Direction = TreeBlocks::Direction;
  const bool is_gather = operation == Operation::kGather;
  return std::make_unique<TreeBlocks>(std::move(tree), is_gather ? Direction::kGather : Direction::kScatter);
}

}  // namespace orrery::collectives::plan
