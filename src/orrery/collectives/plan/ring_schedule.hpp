// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The ring: every rank sends to its successor and receives from its predecessor, one block per step.
///
/// With blocks 0..n-1 (block i is chunks of rank i), rank r in step t sends block r-1-t and receives block
/// r-2-t, all modulo n. Steps 0..n-2 are the reduce-scatter: what is received is added, and after them rank r
/// has block r complete. Steps n-1..2n-3 follow the same formula and are the all-gather, so an all-reduce is
/// one stream of 2n-2 steps without a seam. A block has `pieces` pieces, each a message: piece k of step t is
/// message t*pieces+k, it is sent after message (t-1)*pieces+k came in, and `window` messages are sent ahead.
#include "orrery/collectives/plan/divider.hpp"
#include "orrery/collectives/schedule.hpp"

namespace orrery::collectives::plan {

class RingSchedule final : public Schedule {
 public:
  struct Spec {
    Rank ranks = 0;          ///< At least two.
    bool reduces = false;    ///< Has the reduce-scatter steps.
    bool gathers = false;    ///< Has the all-gather steps.
    bool both_ways = false;  ///< A second lane with its own pieces runs downwards.
    bool collects = false;   ///< Afterwards every rank hands its block to `root`.
    Rank root = 0;
    std::uint32_t pieces = 1;  ///< Per block and lane.
    std::uint32_t window = 0;  ///< 0 = pieces.
  };
  explicit RingSchedule(const Spec& spec);

  [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }
  [[nodiscard]] std::uint32_t chunk_count() const override { return ranks_ * stride_; }
  [[nodiscard]] std::uint32_t lanes(Rank) const override { return lanes_; }
  [[nodiscard]] std::vector<Rank> peers(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] std::uint64_t length(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] Action action(Rank rank, std::uint32_t lane, std::uint64_t index) const override;

 private:
  [[nodiscard]] std::uint32_t chunk(Rank place, std::uint32_t lane, std::uint32_t step,
                                    std::uint32_t piece) const;
  [[nodiscard]] std::uint32_t source_peer(Rank rank) const;
  [[nodiscard]] Action collect_action(Rank rank, std::uint32_t turn) const;

  Rank ranks_;
  Rank root_;
  bool collects_;
  std::uint32_t lanes_;
  std::uint32_t first_step_;  // 0, or n-1 when there is no reduce-scatter.
  std::uint32_t messages_;    // Sent by a rank on a lane of the ring; as many are received.
  std::uint32_t window_;
  std::uint32_t stride_;  // Chunks of a block: the pieces of all lanes.
  Divider pieces_;
};

}  // namespace orrery::collectives::plan
