// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/msccl_schedule.hpp"

#include <algorithm>

#include "orrery/base/check.hpp"

namespace orrery::collectives::plan {

MscclSchedule::MscclSchedule(Rank ranks, std::uint32_t chunk_count, const MscclWiring& wiring)
    : ranks_{ranks},
      chunk_count_{chunk_count},
      lanes_of_rank_{std::max(wiring.lanes, 1U)},
      lanes_(std::size_t{ranks} * lanes_of_rank_) {
  for (const MscclWiring::Block& block : wiring.blocks) {
    receives_.push_back({std::size_t{block.gpu} * lanes_of_rank_ + block.lane,
                         std::vector<std::uint32_t>(block.block->steps.size(), MscclWiring::kNone)});
  }
}

ChunkRange MscclSchedule::name(std::span<const std::uint32_t> chunks) {
  ORRERY_CHECK(!chunks.empty(), "a message without chunks");
  const auto count = static_cast<std::uint32_t>(chunks.size());
  const auto is_gap = [](std::uint32_t one, std::uint32_t next) { return next != one + 1; };
  if (std::ranges::adjacent_find(chunks, is_gap) == chunks.end()) return {chunks.front(), count, false};
  const ChunkRange range{static_cast<std::uint32_t>(list_.size()), count, true};
  list_.insert(list_.end(), chunks.begin(), chunks.end());
  return range;
}

void MscclSchedule::send(const MscclWiring::Block& from, Rank target, const ChunkRange& chunks) {
  append(lanes_[std::size_t{from.gpu} * lanes_of_rank_ + from.lane], target, {ActionKind::kSend, 0, chunks});
}

void MscclSchedule::receive(const MscclWiring::Block& by, std::uint32_t block, std::uint32_t step,
                            Action what) {
  Lane& lane = lanes_[std::size_t{by.gpu} * lanes_of_rank_ + by.lane];
  receives_[block].action[step] = static_cast<std::uint32_t>(lane.actions.size());
  append(lane, what.peer, what);
}

bool MscclSchedule::add_on_arrival(std::uint32_t block, std::uint32_t step) {
  if (block == MscclWiring::kNone) return false;  // It was there from the start.
  const Receives& known = receives_[block];
  if (known.action[step] == MscclWiring::kNone) return false;
  lanes_[known.lane].actions[known.action[step]].kind = ActionKind::kReceiveReduce;
  return true;
}

void MscclSchedule::append(Lane& lane, Rank peer, Action what) {
  const auto found = std::ranges::find(lane.peers, peer);
  what.peer = static_cast<std::uint32_t>(found - lane.peers.begin());
  if (found == lane.peers.end()) lane.peers.push_back(peer);
  lane.actions.push_back(what);
}

}  // namespace orrery::collectives::plan
