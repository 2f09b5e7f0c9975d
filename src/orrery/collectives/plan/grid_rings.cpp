// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/grid_rings.hpp"

#include "orrery/collectives/plan/blocks.hpp"

namespace orrery::collectives::plan {

GridRings::GridRings(const Grid& grid, const Spec& spec) : grid_{grid}, pieces_{spec.pieces} {
  ORRERY_CHECK(grid_.ranks() >= 2, "a grid of one rank");
  if (spec.reduces) {
    for (std::size_t dim = 0; dim < grid_.dims(); ++dim) add_stage(dim, true);
  }
  if (spec.gathers) {
    for (std::size_t dim = grid_.dims(); dim-- > 0;) add_stage(dim, false);
  }
  places_.reserve(grid_.ranks());
  for (Rank rank = 0; rank < grid_.ranks(); ++rank) places_.push_back(place(rank));
  if (spec.reduces && spec.gathers) return;  // Any numbering of an all-reduce's blocks will do.
  list_.resize(chunk_count());
  for (std::uint32_t piece = 0; piece < pieces_; ++piece) {
    for (Rank rank = 0; rank < grid_.ranks(); ++rank) {
      list_[piece * grid_.ranks() + places_[rank]] = rank * pieces_ + piece;
    }
  }
}

void GridRings::add_stage(std::size_t dim, bool adds) {
  std::uint32_t peer = 0;
  for (std::size_t before = 0; before < dim; ++before) peer += grid_.size(before) == 2 ? 1U : 2U;
  const std::uint32_t size = grid_.size(dim);
  stages_.push_back({
      .dim = dim,
      .adds = adds,
      .first_step = steps_,
      .next_peer = peer,
      .last_peer = size == 2 ? peer : peer + 1,
      .blocks = grid_.ranks() / (grid_.stride(dim) * size),
  });
  steps_ += size - 1;
}

std::uint32_t GridRings::place(Rank rank) const {
  std::uint32_t result = 0;
  for (std::size_t dim = 0; dim < grid_.dims(); ++dim) {
    result = result * grid_.size(dim) + grid_.coordinate(rank, dim);
  }
  return result;
}

std::vector<Rank> GridRings::peers(Rank rank, std::uint32_t) const {
  std::vector<Rank> result;
  for (std::size_t dim = 0; dim < grid_.dims(); ++dim) {
    const std::uint32_t size = grid_.size(dim);
    const std::uint32_t here = grid_.coordinate(rank, dim);
    result.push_back(grid_.moved(rank, dim, ahead(here, 1, size)));
    if (size > 2) result.push_back(grid_.moved(rank, dim, behind(here, 1, size)));
  }
  return result;
}

std::uint64_t GridRings::length(Rank, std::uint32_t) const { return std::uint64_t{2} * steps_; }

Action GridRings::action(Rank rank, std::uint32_t lane, std::uint64_t index) const {
  const auto number = static_cast<std::uint32_t>(index / 2);
  const bool is_send = index % 2 == 0;
  std::size_t at = stages_.size() - 1;  // There are few.
  while (stages_[at].first_step > number) --at;
  const Stage& stage = stages_[at];

  // The ring of RingSchedule along this dim: in step t send block c-1-t and receive c-2-t, where the all-gather
  // begins at step size-1.
  const std::uint32_t size = grid_.size(stage.dim);
  const std::uint32_t here = grid_.coordinate(rank, stage.dim);
  const std::uint32_t back = number - stage.first_step + (stage.adds ? 1 : 0) + (is_send ? 0 : 1);
  const std::uint32_t digit = behind(here, wrap(back, size), size);
  // Lower digits of the block number are those of later dims: a message has all of them.
  const std::uint32_t own = places_[rank] / stage.blocks;
  const std::uint32_t first = (own - here + digit) * stage.blocks;
  const ActionKind receive = stage.adds ? ActionKind::kReceiveReduce : ActionKind::kReceive;
  return {is_send ? ActionKind::kSend : receive,
          is_send ? stage.next_peer : stage.last_peer,
          {lane * grid_.ranks() + first, stage.blocks, !list_.empty()}};
}

}  // namespace orrery::collectives::plan
