// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/exchange_schedule.hpp"

#include <bit>
#include <utility>

#include "orrery/base/check.hpp"
#include "orrery/collectives/plan/blocks.hpp"

namespace orrery::collectives::plan {

ExchangeSchedule::ExchangeSchedule(Spec spec)
    : ranks_{spec.ranks},
      phases_{std::move(spec.phases)},
      at_once_{spec.at_once},
      swaps_{spec.swaps && std::has_single_bit(spec.ranks)} {
  ORRERY_CHECK(ranks_ >= 2 && !phases_.empty(), "{} ranks, {} phases", ranks_, phases_.size());
}

std::uint32_t ExchangeSchedule::chunk_count() const {
  switch (phases_.front()) {
    case Phase::kPersonal:
      return ranks_ * ranks_;
    case Phase::kEverything:
      return 1;
    default:
      return ranks_;
  }
}

// Peer s-1 is the target of round s.
std::vector<Rank> ExchangeSchedule::peers(Rank rank, std::uint32_t) const {
  std::vector<Rank> result;
  result.reserve(ranks_ - 1);
  for (Rank round = 1; round < ranks_; ++round) {
    result.push_back(swaps_ ? rank ^ round : ahead(rank, round, ranks_));
  }
  return result;
}

std::uint64_t ExchangeSchedule::length(Rank, std::uint32_t) const {
  return std::uint64_t{2} * (ranks_ - 1) * phases_.size();
}

std::uint32_t ExchangeSchedule::chunk(Phase phase, Rank source, Rank target) const {
  switch (phase) {
    case Phase::kDistribute:
      return target;
    case Phase::kCollect:
      return source;
    case Phase::kPersonal:
      return source * ranks_ + target;
    case Phase::kEverything:
      return 0;
  }
  return 0;
}

Action ExchangeSchedule::action(Rank rank, std::uint32_t, std::uint64_t index) const {
  const std::uint32_t rounds = ranks_ - 1;
  auto turn = static_cast<std::uint32_t>(index);
  std::size_t number = 0;
  while (turn >= 2 * rounds) {  // At most two phases.
    turn -= 2 * rounds;
    ++number;
  }
  const Phase phase = phases_[number];
  const bool is_send = at_once_ ? turn < rounds : (turn & 1) == 0;
  const Rank round = 1 + (at_once_ ? turn - (is_send ? 0 : rounds) : turn / 2);
  if (is_send) {
    const Rank target = swaps_ ? rank ^ round : ahead(rank, round, ranks_);
    return {ActionKind::kSend, round - 1, {chunk(phase, rank, target), 1, false}};
  }
  const Rank source = swaps_ ? rank ^ round : behind(rank, round, ranks_);
  const bool adds = phase == Phase::kDistribute || phase == Phase::kEverything;
  return {adds ? ActionKind::kReceiveReduce : ActionKind::kReceive,
          swaps_ ? round - 1 : ranks_ - round - 1,
          {chunk(phase, source, rank), 1, false}};
}

}  // namespace orrery::collectives::plan
