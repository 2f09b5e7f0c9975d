// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/ring_schedule.hpp"

#include <algorithm>

#include "orrery/base/check.hpp"
#include "orrery/collectives/plan/blocks.hpp"

namespace orrery::collectives::plan {

RingSchedule::RingSchedule(const Spec& spec)
    : ranks_{spec.ranks},
      root_{spec.root},
      collects_{spec.collects},
      lanes_{spec.both_ways ? 2U : 1U},
      first_step_{spec.reduces ? 0 : spec.ranks - 1},
      messages_{((spec.reduces ? 1U : 0U) + (spec.gathers ? 1U : 0U)) * (spec.ranks - 1) * spec.pieces},
      window_{spec.window == 0 ? spec.pieces : std::min(spec.window, spec.pieces)},
      stride_{lanes_ * spec.pieces},
      pieces_{spec.pieces} {
  ORRERY_CHECK(ranks_ >= 2, "a ring of {} ranks", ranks_);
  ORRERY_CHECK(!collects_ || lanes_ == 1, "the root collects from a ring that runs one way only");
}

// Peer 0 is the successor. The root of a reduce knows all others, in ring order; the predecessor is the last
// of them. Everyone else knows the predecessor (if it is not the successor too) and the root.
std::vector<Rank> RingSchedule::peers(Rank rank, std::uint32_t lane) const {
  std::vector<Rank> result;
  if (collects_ && rank == root_) {
    for (Rank distance = 1; distance < ranks_; ++distance) result.push_back(ahead(rank, distance, ranks_));
    return result;
  }
  const Rank above = ahead(rank, 1, ranks_);
  const Rank below = behind(rank, 1, ranks_);
  result.push_back(lane == 0 ? above : below);
  if (ranks_ > 2) result.push_back(lane == 0 ? below : above);
  if (collects_ && root_ != above && root_ != below) result.push_back(root_);
  return result;
}

std::uint64_t RingSchedule::length(Rank rank, std::uint32_t) const {
  const std::uint64_t collecting = !collects_ ? 0 : rank == root_ ? ranks_ - 1 : 1;
  return std::uint64_t{messages_} * 2 + collecting;
}

std::uint32_t RingSchedule::source_peer(Rank rank) const {
  if (collects_ && rank == root_) return ranks_ - 2;
  return ranks_ == 2 ? 0 : 1;
}

/// The chunk that the rank at ring place `place` sends in `step`.
std::uint32_t RingSchedule::chunk(Rank place, std::uint32_t lane, std::uint32_t step,
                                  std::uint32_t piece) const {
  // place - 1 - step modulo n, for steps below 2n.
  const Rank block = wrap(wrap(place + 2 * ranks_ - 1 - step, 2 * ranks_), ranks_);
  // The downward lane is the same ring seen in a mirror.
  const Rank owner = lane == 0 ? block : ranks_ - 1 - block;
  return owner * stride_ + lane * pieces_.divisor() + piece;
}

Action RingSchedule::action(Rank rank, std::uint32_t lane, std::uint64_t index) const {
  const auto turn = static_cast<std::uint32_t>(index);
  if (turn >= 2 * messages_) return collect_action(rank, turn - 2 * messages_);

  // First `window` sends, then a receive and a send in turns, then the receives that are left.
  bool is_send = turn < window_;
  std::uint32_t message = turn;
  if (!is_send) {
    const std::uint32_t after = turn - window_;
    const std::uint32_t pairs = messages_ - window_;
    const bool is_paired = after < 2 * pairs;
    is_send = is_paired && (after & 1) != 0;
    message = is_paired ? after / 2 + (is_send ? window_ : 0) : after - pairs;
  }
  const auto [step_number, piece] = pieces_.divide(message);
  const std::uint32_t step = first_step_ + step_number;
  const Rank place = lane == 0 ? rank : ranks_ - 1 - rank;
  if (is_send) return {ActionKind::kSend, 0, {chunk(place, lane, step, piece), 1, false}};
  // What comes in is what the predecessor sends in this step: one block further back.
  const auto kind = step < ranks_ - 1 ? ActionKind::kReceiveReduce : ActionKind::kReceive;
  return {kind, source_peer(rank), {chunk(place, lane, step + 1, piece), 1, false}};
}

Action RingSchedule::collect_action(Rank rank, std::uint32_t turn) const {
  if (rank == root_) {
    const Rank owner = ahead(rank, turn + 1, ranks_);
    return {ActionKind::kReceive, turn, {owner * stride_, stride_, false}};
  }
  const bool is_next = root_ == ahead(rank, 1, ranks_);
  const bool is_previous = root_ == behind(rank, 1, ranks_);
  const std::uint32_t peer = is_next ? 0 : is_previous ? 1 : 2;
  return {ActionKind::kSend, peer, {rank * stride_, stride_, false}};
}

}  // namespace orrery::collectives::plan
