// SPDX-License-Identifier: Apache-2.0
// Halving-doubling: partners 1, 2, 4, ... apart with half of what is left each time, then back. The reduction is
// charged on the size of the next message, and not after the last receive of the first half, as ASTRA-sim does.
#include <bit>

#include "orrery/astra/machine.hpp"

namespace orrery::astra {

void Machine::halving_start(std::uint32_t number) {
  Chunk& chunk = chunks_[number];
  const auto rounds = static_cast<std::uint32_t>(std::countr_zero(chunk.size));
  chunk.tokens = chunk.sent = chunk.inserted = 0;
  chunk.unreduced_left = chunk.reduced_left = 0;
  chunk.reduces_now = false;
  chunk.window = 1;
  chunk.sends_left = chunk.phase.collective == Collective::kAllReduce ? 2 * rounds : rounds;
  const bool gathers = chunk.phase.collective == Collective::kAllGather;
  chunk.message = gathers ? chunk.phase.size : chunk.phase.size / 2;
  chunk.distance = gathers ? chunk.size / 2 : 1;
  chunk.is_shrinking = !gathers;
  halving_insert(number);
}

/// The message that comes next, and the one after it worked out.
void Machine::halving_insert(std::uint32_t number) {
  Chunk& chunk = chunks_[number];
  const auto rounds = static_cast<std::uint32_t>(std::countr_zero(chunk.size));
  ++chunk.inserted;
  chunk.packet = chunk.message;
  chunk.packet_distance = chunk.distance;
  chunk.reduction = reduction_time(chunk.message);
  cross_endpoint(number, next_crossing(chunk, 1, rounds - 1), chunk.message);
  chunk.distance = chunk.is_shrinking ? chunk.distance * 2 : chunk.distance / 2;
  chunk.message = chunk.is_shrinking ? chunk.message / 2 : chunk.message * 2;
  if (chunk.distance == chunk.size && chunk.phase.collective == Collective::kAllReduce) {
    chunk.is_shrinking = false;
    chunk.distance /= 2;
    chunk.message *= 2;  // What a halving cut off stays off.
  }
}

void Machine::halving_ready(std::uint32_t number) {
  Chunk& chunk = chunks_[number];
  ++chunk.tokens;
  if (chunk.inserted > chunk.sent && chunk.sends_left > 0) {
    const bool forward = chunk.index / chunk.packet_distance % 2 == 0;
    const std::uint32_t partner = neighbour(chunk, chunk.packet_distance, forward);
    --chunk.tokens;
    --chunk.sends_left;
    ++chunk.sent;
    send(chunk.rank, partner, chunk.tag, chunk.packet, {});
    receive(chunk.rank, partner, chunk.tag, chunk.packet, {.kind = Notice::Kind::kChunk, .subject = number});
  }
  if (chunk.sends_left == 0 && chunk.tokens == 1) next_phase(number);
}

}  // namespace orrery::astra
