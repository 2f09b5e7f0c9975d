// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/dissemination.hpp"

#include <algorithm>
#include <bit>

#include "orrery/base/check.hpp"
#include "orrery/collectives/plan/blocks.hpp"

namespace orrery::collectives::plan {

std::uint32_t dissemination_steps(Rank ranks) {
  return static_cast<std::uint32_t>(std::bit_width(ranks - 1));
}

Dissemination::Dissemination(Rank ranks, Purpose purpose)
    : ranks_{ranks}, is_barrier_{purpose == Purpose::kBarrier} {
  ORRERY_CHECK(ranks >= 2, "{} ranks", ranks);
  for (std::uint32_t step = 0; step < dissemination_steps(ranks); ++step) {
    const Rank up = Rank{1} << step;
    target_peers_.push_back(offset_index(is_barrier_ ? up : ranks - up));
    source_peers_.push_back(offset_index(is_barrier_ ? ranks - up : up));
  }
  if (is_barrier_) return;
  list_.reserve(2 * std::size_t{ranks});
  for (std::uint32_t entry = 0; entry < 2 * ranks; ++entry) list_.push_back(wrap(entry, ranks));
}

/// Two steps may have a peer in common: 2^j + 2^k = n makes r+2^j and r-2^k the same.
std::uint32_t Dissemination::offset_index(Rank offset) {
  const auto found = std::ranges::find(offsets_, offset);
  const auto index = static_cast<std::uint32_t>(found - offsets_.begin());
  if (found == offsets_.end()) offsets_.push_back(offset);
  return index;
}

std::vector<Rank> Dissemination::peers(Rank rank, std::uint32_t) const {
  std::vector<Rank> result;
  result.reserve(offsets_.size());
  for (const Rank offset : offsets_) result.push_back(ahead(rank, offset, ranks_));
  return result;
}

std::uint64_t Dissemination::length(Rank, std::uint32_t) const { return 2 * target_peers_.size(); }

ChunkRange Dissemination::blocks(Rank first, std::uint32_t count) const {
  return {first, count, first + count > ranks_};
}

Action Dissemination::action(Rank rank, std::uint32_t, std::uint64_t index) const {
  const std::size_t step = index / 2;
  const bool is_send = index % 2 == 0;
  const ActionKind kind = is_send ? ActionKind::kSend : ActionKind::kReceive;
  const std::uint32_t peer = is_send ? target_peers_[step] : source_peers_[step];
  if (is_barrier_) return {kind, peer, {0, 1, false}};
  const std::uint32_t distance = 1U << step;
  const std::uint32_t count = std::min(distance, ranks_ - distance);
  return {kind, peer, blocks(is_send ? rank : ahead(rank, distance, ranks_), count)};
}

}  // namespace orrery::collectives::plan
