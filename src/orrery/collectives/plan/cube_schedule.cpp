// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/cube_schedule.hpp"

#include <utility>

#include "orrery/base/check.hpp"

namespace orrery::collectives::plan {

CubeSchedule::CubeSchedule(Spec spec)
    : ranks_{spec.ranks},
      fold_{spec.ranks},
      stages_{std::move(spec.stages)},
      add_{spec.adds ? ActionKind::kReceiveReduce : ActionKind::kReceive},
      chunks_{0} {
  ORRERY_CHECK(ranks_ >= 2 && !stages_.empty(), "{} ranks, {} stages", ranks_, stages_.size());
  chunks_ = stages_.front() == Stage::kWhole ? 1 : fold_.cube_size();
}

// Peer b is the neighbour at distance 2^b; the folded partner, if any, comes last.
std::vector<Rank> CubeSchedule::peers(Rank rank, std::uint32_t) const {
  if (fold_.is_folded(rank)) return {Fold::partner(rank)};
  std::vector<Rank> result;
  result.reserve(fold_.steps() + 1);
  const Rank number = fold_.cube_number(rank);
  for (std::uint32_t bit = 0; bit < fold_.steps(); ++bit) {
    result.push_back(fold_.rank_of(number ^ (1U << bit)));
  }
  if (fold_.has_folded(rank)) result.push_back(Fold::partner(rank));
  return result;
}

std::uint64_t CubeSchedule::length(Rank rank, std::uint32_t) const {
  if (fold_.is_folded(rank)) return 2;
  return std::uint64_t{2} * fold_.steps() * stages_.size() + (fold_.has_folded(rank) ? 2 : 0);
}

Action CubeSchedule::action(Rank rank, std::uint32_t, std::uint64_t index) const {
  auto turn = static_cast<std::uint32_t>(index);
  const ChunkRange everything{0, chunks_, false};
  if (fold_.is_folded(rank)) return {turn == 0 ? ActionKind::kSend : ActionKind::kReceive, 0, everything};

  const std::uint32_t steps = fold_.steps();
  if (fold_.has_folded(rank)) {
    if (turn == 0) return {add_, steps, everything};
    --turn;
  }
  std::size_t number = 0;
  while (turn >= 2 * steps) {  // At most two stages.
    turn -= 2 * steps;
    ++number;
  }
  if (number == stages_.size()) return {ActionKind::kSend, steps, everything};

  const Stage stage = stages_[number];
  const std::uint32_t bit = stage == Stage::kHalve ? steps - 1 - turn / 2 : turn / 2;
  const bool is_send = turn % 2 == 0;
  if (stage == Stage::kWhole) return {is_send ? ActionKind::kSend : add_, bit, everything};

  const std::uint32_t distance = 1U << bit;
  const Rank own_group = fold_.cube_number(rank) & ~(distance - 1);
  // Halving keeps the own group and gives the other away; doubling is its reverse.
  const bool is_own = is_send == (stage == Stage::kDouble);
  const ActionKind receive = stage == Stage::kHalve ? add_ : ActionKind::kReceive;
  return {is_send ? ActionKind::kSend : receive,
          bit,
          {is_own ? own_group : own_group ^ distance, distance, false}};
}

}  // namespace orrery::collectives::plan
