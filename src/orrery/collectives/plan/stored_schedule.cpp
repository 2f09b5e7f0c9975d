// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/stored_schedule.hpp"

#include <algorithm>
#include <limits>

#include "orrery/base/check.hpp"

namespace orrery::collectives::plan {

ChunkRange StoredSchedule::name(std::span<const std::uint32_t> chunks) {
  const auto count = static_cast<std::uint32_t>(chunks.size());
  for (const std::uint32_t chunk : chunks) {
    ORRERY_CHECK(chunk < chunk_count_, "chunk {} of {}", chunk, chunk_count_);
  }
  const auto is_gap = [](std::uint32_t one, std::uint32_t next) { return next != one + 1; };
  if (std::ranges::adjacent_find(chunks, is_gap) == chunks.end()) {
    return {chunks.empty() ? 0 : chunks.front(), count, false};
  }
  ORRERY_CHECK(list_.size() + count <= std::numeric_limits<std::uint32_t>::max(), "the chunk list is full");
  const ChunkRange range{static_cast<std::uint32_t>(list_.size()), count, true};
  list_.insert(list_.end(), chunks.begin(), chunks.end());
  return range;
}

void StoredSchedule::append(Rank rank, ActionKind kind, Rank peer, const ChunkRange& chunks) {
  ORRERY_CHECK(rank < ranks_ && peer < ranks_ && rank != peer, "rank {} and {} of {}", rank, peer, ranks_);
  Lane& lane = lanes_[rank];
  // Recent peers are the likely ones, and lists are short.
  const auto found = std::find(lane.peers.rbegin(), lane.peers.rend(), peer);
  const auto index = found == lane.peers.rend() ? lane.peers.size()
                                                : static_cast<std::size_t>(lane.peers.rend() - found) - 1;
  if (index == lane.peers.size()) lane.peers.push_back(peer);
  lane.actions.push_back({kind, static_cast<std::uint32_t>(index), chunks});
}

}  // namespace orrery::collectives::plan
