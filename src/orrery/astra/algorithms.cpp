// SPDX-License-Identifier: Apache-2.0
// What all algorithms share: a chunk's place, its endpoint, its reduction.
#include "orrery/astra/custom_run.hpp"
#include "orrery/astra/endpoint_bus.hpp"
#include "orrery/astra/machine.hpp"

namespace orrery::astra {
namespace {

constexpr std::uint64_t kGroupEndpointDelay = 10;  // ns, whatever is configured.

}  // namespace

void Machine::start_chunk(std::uint32_t number) {
  Chunk& chunk = chunks_[number];
  if (chunk.phase.is_custom) {
    chunk.custom->issue_ready();
    return;
  }
  place(chunk);
  switch (chunk.phase.algorithm) {
    case Algorithm::kRing:
    case Algorithm::kDirect:
      ring_start(number);
      break;
    case Algorithm::kHalvingDoubling:
      halving_start(number);
      break;
    case Algorithm::kDoubleBinaryTree:
      tree_start(number);
      break;
  }
}

void Machine::chunk_received(std::uint32_t number) {
  Chunk& chunk = chunks_[number];
  switch (chunk.phase.algorithm) {
    case Algorithm::kRing:
    case Algorithm::kDirect:
      ++chunk.received;
      ring_insert(number);
      break;
    case Algorithm::kHalvingDoubling:
      halving_insert(number);
      break;
    case Algorithm::kDoubleBinaryTree:
      tree_received(number);
      break;
  }
}

void Machine::chunk_ready(std::uint32_t number) {
  switch (chunks_[number].phase.algorithm) {
    case Algorithm::kRing:
    case Algorithm::kDirect:
      ring_ready(number);
      break;
    case Algorithm::kHalvingDoubling:
      halving_ready(number);
      break;
    case Algorithm::kDoubleBinaryTree:
      tree_ready(number);
      break;
  }
}

void Machine::place(Chunk& chunk) {
  const Circle& circle = circles_[chunk.phase.circle];
  chunk.size = circle.size;
  if (!circle.is_group()) {
    chunk.index = chunk.rank / circle.stride % circle.size;
    return;
  }
  chunk.index = 0;
  while (circle.members[chunk.index] != chunk.rank) ++chunk.index;
}

std::uint32_t Machine::member(const Chunk& chunk, std::uint32_t index) const {
  const Circle& circle = circles_[chunk.phase.circle];
  if (circle.is_group()) return circle.members[index];
  return chunk.rank - chunk.index * circle.stride + index * circle.stride;
}

std::uint32_t Machine::neighbour(const Chunk& chunk, std::uint32_t distance, bool forward) const {
  const std::uint32_t steps = forward ? distance : chunk.size - distance;
  return member(chunk, (chunk.index + steps) % chunk.size);
}

/// One write and two reads of local memory, each cut to whole ns. Without a bandwidth it is free.
std::uint64_t Machine::reduction_time(std::uint64_t size) const {
  if (system_.memory_bandwidth <= 0) return 0;
  return 3 * static_cast<std::uint64_t>(static_cast<double>(size) / system_.memory_bandwidth * 1e9);
}

/// A packet passes between NPU and NIC; then, perhaps, it is reduced.
void Machine::cross_endpoint(std::uint32_t number, const Crossing& crossing, std::uint64_t size) {
  const Chunk& chunk = chunks_[number];
  const bool is_group = circles_[chunk.phase.circle].is_group();
  if (system_.bus.modelled && !is_group) {
    ranks_[chunk.rank].bus->cross(number, crossing.to_nic, crossing.reduces, crossing.sends_back, size);
    return;
  }
  const auto kind = crossing.reduces ? Callback::Kind::kEndpointReduce : Callback::Kind::kEndpoint;
  plan(chunk.rank, is_group ? kGroupEndpointDelay : system_.endpoint_delay,
       {.kind = kind, .subject = number});
}

/// Packets come in runs: some on their way out, then some that came in, which are reduced if the run is one of
/// reduction.
Crossing Machine::next_crossing(Chunk& chunk, std::uint32_t unreduced, std::uint32_t reduced) {
  if (chunk.unreduced_left == 0 && chunk.reduced_left == 0) {
    chunk.unreduced_left = unreduced;
    chunk.reduced_left = reduced;
    chunk.reduces_now = !chunk.reduces_now;
  }
  if (chunk.unreduced_left > 0) {
    --chunk.unreduced_left;
    return {.to_nic = true, .reduces = false, .sends_back = false};
  }
  const bool sends_back = chunk.reduced_left-- > chunk.window;
  const bool reduces = chunk.phase.collective == Collective::kReduceScatter ||
                       (chunk.phase.collective == Collective::kAllReduce && chunk.reduces_now);
  return {.to_nic = false, .reduces = reduces, .sends_back = sends_back};
}

}  // namespace orrery::astra
