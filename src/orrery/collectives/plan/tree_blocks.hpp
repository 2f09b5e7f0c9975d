// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Gather and scatter over a tree of ranks: each edge carries, in one message, the blocks of all ranks below it.
/// The chunk list is the tree's preorder, in which those blocks are neighbours.
#include "orrery/collectives/plan/tree.hpp"

namespace orrery::collectives::plan {

class TreeBlocks final : public Schedule {
 public:
  enum class Direction : std::uint8_t { kGather, kScatter };
  TreeBlocks(Tree tree, Direction direction);

  [[nodiscard]] std::uint32_t ranks() const override { return tree_.size(); }
  [[nodiscard]] std::uint32_t chunk_count() const override { return tree_.size(); }
  [[nodiscard]] std::uint32_t lanes(Rank) const override { return 1; }
  [[nodiscard]] std::vector<Rank> peers(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] std::uint64_t length(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] Action action(Rank rank, std::uint32_t lane, std::uint64_t index) const override;
  [[nodiscard]] std::span<const std::uint32_t> chunk_list() const override { return tree_.preorder(); }

 private:
  [[nodiscard]] ChunkRange below(Rank rank) const;

  Tree tree_;
  Direction direction_;
};

/// Gather and scatter: the operations for which each rank has its own block at the root.
[[nodiscard]] constexpr bool moves_blocks(Operation operation) {
  return operation == Operation::kGather || operation == Operation::kScatter;
}
[[nodiscard]] std::unique_ptr<Schedule> move_blocks(Operation operation, Tree tree);

}  // namespace orrery::collectives::plan
