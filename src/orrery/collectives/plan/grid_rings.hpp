// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Rings along the dims of a grid, one dim after another: a reduce-scatter over the first dim leaves each rank with
/// 1/d0 of the data for the second, and so on; the all-gather goes back in the opposite order.
///
/// Blocks are numbered with the first coordinate as the highest digit, so that what a rank handles in a dim is a range.
/// Where the block's number must be that of its rank (all but all-reduce), the chunk list translates. Each piece of a
/// block is a lane of its own and passes through the dims independently of the others.
#include "orrery/collectives/plan/grid.hpp"

namespace orrery::collectives::plan {

class GridRings final : public Schedule {
 public:
  struct Spec {
    bool reduces = false;
    bool gathers = false;
    std::uint32_t pieces = 1;
  };
  GridRings(const Grid& grid, const Spec& spec);

  [[nodiscard]] std::uint32_t ranks() const override { return grid_.ranks(); }
  [[nodiscard]] std::uint32_t chunk_count() const override { return grid_.ranks() * pieces_; }
  [[nodiscard]] std::uint32_t lanes(Rank) const override { return pieces_; }
  [[nodiscard]] std::vector<Rank> peers(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] std::uint64_t length(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] Action action(Rank rank, std::uint32_t lane, std::uint64_t index) const override;
  [[nodiscard]] std::span<const std::uint32_t> chunk_list() const override { return list_; }

 private:
  /// One ring phase along one dim.
  struct Stage {
    std::size_t dim;
    bool adds;
    std::uint32_t first_step;  // Steps of the stages before this one.
    std::uint32_t next_peer;   // Peer numbers of the neighbours in this dim.
    std::uint32_t last_peer;
    std::uint32_t blocks;  // In one message.
  };
  void add_stage(std::size_t dim, bool adds);
  [[nodiscard]] std::uint32_t place(Rank rank) const;

  Grid grid_;
  std::uint32_t pieces_;
  std::uint32_t steps_ = 0;
  std::vector<Stage> stages_;
  std::vector<std::uint32_t> places_;  // Block number of each rank's own block.
  std::vector<std::uint32_t> list_;
};

}  // namespace orrery::collectives::plan
