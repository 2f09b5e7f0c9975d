// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One buffer flows up a tree and is added on the way (reduce), flows down it (broadcast), or both (all-reduce,
/// barrier). Several trees may each carry a share of the buffer, in lanes of their own.
///
/// The share of a tree is cut into pieces. Going both ways, a participant must pass pieces down while later ones
/// still come up, or the links would idle half of the time. A lane is one list, so the two directions are
/// interleaved: the downward turn of a piece stands `lag` upward turns later, where lag is how many pieces fit
/// between the participant and the root, there and back.
#include "orrery/collectives/plan/tree.hpp"

namespace orrery::collectives::plan {

class TreeFlow final : public Schedule {
 public:
  struct Spec {
    Rank ranks = 0;           ///< The first participants of each tree; any others are switches.
    std::vector<Tree> trees;  ///< Over the same participants.
    std::uint32_t pieces = 1;
    bool up = false;
    bool down = false;
    bool adds = true;  ///< False for a barrier: nothing is computed.
  };
  explicit TreeFlow(Spec spec);

  [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }
  [[nodiscard]] std::uint32_t participants() const override { return trees_.front().size(); }
  [[nodiscard]] std::uint32_t chunk_count() const override;
  [[nodiscard]] std::uint32_t lanes(Rank) const override { return static_cast<std::uint32_t>(trees_.size()); }
  [[nodiscard]] std::vector<Rank> peers(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] std::uint64_t length(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] Action action(Rank rank, std::uint32_t lane, std::uint64_t index) const override;

 private:
  struct Turn {
    bool is_up;
    std::uint32_t piece;
  };
  [[nodiscard]] Turn turn_at(const Tree& tree, Rank who, std::uint32_t position) const;

  Rank ranks_;
  std::vector<Tree> trees_;
  std::uint32_t pieces_;
  bool up_;
  bool down_;
  ActionKind add_;
};

/// The flow over one tree that performs `operation`; nothing else is asked of it. A barrier has one piece.
[[nodiscard]] std::unique_ptr<Schedule> flow(Operation operation, Rank ranks, std::vector<Tree> trees,
                                             std::uint32_t pieces);

/// Bytes on the wire of flow(): the buffer crosses each of the edges once per direction.
[[nodiscard]] Bytes flow_bytes(Operation operation, Rank participants, const Layout& layout);

}  // namespace orrery::collectives::plan
