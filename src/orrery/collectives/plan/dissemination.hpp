// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Steps at doubling distances around the circle of ranks, for any number of them.
///
/// As an all-gather (Bruck): before step k rank r has blocks r .. r+2^k-1; it sends the first min(2^k, n-2^k) of
/// them to r-2^k and receives as many from r+2^k. As a barrier (dissemination): it tells r+2^k all it has heard.
/// Blocks that wrap around are named through the list 0..n-1, 0..n-1.
#include "orrery/collectives/schedule.hpp"

namespace orrery::collectives::plan {

class Dissemination final : public Schedule {
 public:
  enum class Purpose : std::uint8_t { kAllGather, kBarrier };
  Dissemination(Rank ranks, Purpose purpose);

  [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }
  [[nodiscard]] std::uint32_t chunk_count() const override { return is_barrier_ ? 1 : ranks_; }
  [[nodiscard]] std::uint32_t lanes(Rank) const override { return 1; }
  [[nodiscard]] std::vector<Rank> peers(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] std::uint64_t length(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] Action action(Rank rank, std::uint32_t lane, std::uint64_t index) const override;
  [[nodiscard]] std::span<const std::uint32_t> chunk_list() const override { return list_; }

 private:
  [[nodiscard]] std::uint32_t offset_index(Rank offset);
  [[nodiscard]] ChunkRange blocks(Rank first, std::uint32_t count) const;

  Rank ranks_;
  bool is_barrier_;
  std::vector<Rank> offsets_;                // Of each peer from the rank; the same for all ranks.
  std::vector<std::uint32_t> target_peers_;  // Peer index by step.
  std::vector<std::uint32_t> source_peers_;
  std::vector<std::uint32_t> list_;
};

/// ceil(log2(ranks)).
[[nodiscard]] std::uint32_t dissemination_steps(Rank ranks);

}  // namespace orrery::collectives::plan
