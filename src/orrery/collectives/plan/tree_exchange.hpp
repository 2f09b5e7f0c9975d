// SPDX-License-Identifier: Apache-2.0
#pragma once
/// All-gather and reduce-scatter over a tree whose inner participants compute: every block crosses every edge once.
///
/// All-gather: a block is passed on to all neighbours but the one it came from (multicast). Reduce-scatter is the
/// reverse: partial sums of a block are taken from all neighbours but the one towards its rank, and sent on there.
/// All participants handle the blocks in the order of their ranks, so nobody waits in a circle and messages of
/// different blocks do not overtake each other. Only leaves, which pass nothing on, need not wait: they send their own
/// block first, or receive it last.
#include "orrery/collectives/plan/tree.hpp"

namespace orrery::collectives::plan {

class TreeExchange final : public Schedule {
 public:
  enum class Purpose : std::uint8_t { kAllGather, kReduceScatter };
  /// Of the tree's participants the first `ranks` are ranks; every switch has two neighbours or more.
  TreeExchange(Tree tree, Rank ranks, std::uint32_t pieces, Purpose purpose);

  [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }
  [[nodiscard]] std::uint32_t participants() const override { return tree_.size(); }
  [[nodiscard]] std::uint32_t chunk_count() const override { return ranks_ * pieces_; }
  [[nodiscard]] std::uint32_t lanes(Rank) const override { return 1; }
  [[nodiscard]] std::vector<Rank> peers(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] std::uint64_t length(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] Action action(Rank rank, std::uint32_t lane, std::uint64_t index) const override;

 private:
  [[nodiscard]] Rank owner_at(Rank who, std::uint32_t position) const;

  Tree tree_;
  Rank ranks_;
  std::uint32_t pieces_;
  bool is_gather_;
};

}  // namespace orrery::collectives::plan
