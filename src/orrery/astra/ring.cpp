// SPDX-License-Identifier: Apache-2.0
// Ring: one message at a time to the next, n-1 steps for a half, n(n-1)/2 relays for an all-to-all.
// Direct: the same counts over all peers at once, or so many at a time; an all-reduce's second half starts when
// everything of the first has arrived.
#include <algorithm>

#include "orrery/astra/machine.hpp"

namespace orrery::astra {

void Machine::ring_start(std::uint32_t number) {
  Chunk& chunk = chunks_[number];
  const std::uint32_t others = chunk.size - 1;
  const bool is_direct = chunk.phase.algorithm == Algorithm::kDirect;
  chunk.tokens = chunk.received = chunk.inserted = chunk.sent = 0;
  chunk.unreduced_left = chunk.reduced_left = 0;
  chunk.reduces_now = false;
  chunk.message =
      chunk.phase.collective == Collective::kAllGather ? chunk.phase.size : chunk.phase.size / chunk.size;
  chunk.reduction = reduction_time(chunk.message);
  chunk.sends_left = others;
  if (chunk.phase.collective == Collective::kAllReduce) chunk.sends_left = 2 * others;
  if (chunk.phase.collective == Collective::kAllToAll && !is_direct) {
    chunk.sends_left = others * chunk.size / 2;
  }
  chunk.window = 1;
  if (is_direct) {
    chunk.window =
        chunk.phase.window < 0 ? others : std::min(static_cast<std::uint32_t>(chunk.phase.window), others);
  } else if (!inputs_.is_rendezvous) {
    check_size(chunk.rank, chunk.message);
    const bool forward = !chunk.phase.is_anticlockwise;
    chunk.send_channel =
        channels_.open(key_to(chunk.rank, neighbour(chunk, 1, forward), chunk.tag, chunk.message));
    channels_.hold(chunk.send_channel);
    chunk.receive_channel =
        channels_.open(key_from(chunk.rank, neighbour(chunk, 1, !forward), chunk.tag, chunk.message));
    channels_.hold(chunk.receive_channel);
  }
  for (std::uint32_t i = 0; i < chunk.window; ++i) ring_insert(number);
}

void Machine::ring_insert(std::uint32_t number) {
  Chunk& chunk = chunks_[number];
  std::uint32_t reduced = chunk.size - 1;
  if (chunk.phase.algorithm == Algorithm::kDirect) {
    reduced = circles_[chunk.phase.circle].is_group() ? (chunk.size - 1) * chunk.window : chunk.window;
  }
  ++chunk.inserted;
  cross_endpoint(number, next_crossing(chunk, chunk.window, reduced), chunk.message);
}

void Machine::ring_ready(std::uint32_t number) {
  Chunk& chunk = chunks_[number];
  ++chunk.tokens;
  const std::uint32_t others = chunk.size - 1;
  const bool is_second_half = chunk.phase.algorithm == Algorithm::kDirect &&
                              chunk.phase.collective == Collective::kAllReduce && chunk.sends_left <= others;
  if (is_second_half) {
    if (chunk.received < others) return;
    for (std::uint32_t i = 0; i < chunk.window; ++i) ring_send(number);
  } else {
    ring_send(number);
  }
  if (chunk.sends_left == 0 && chunk.tokens == chunk.window) next_phase(number);
}

/// The next packet to its peer, and a receive from the peer on the other side.
void Machine::ring_send(std::uint32_t number) {
  Chunk& chunk = chunks_[number];
  if (chunk.inserted == chunk.sent || chunk.sends_left == 0 || chunk.tokens == 0) return;
  const Notice received{.kind = Notice::Kind::kChunk, .subject = number};
  --chunk.tokens;
  --chunk.sends_left;
  if (chunk.send_channel != kNone) {
    ++chunk.sent;
    fabric_.send(chunk.send_channel, {});
    post_receive(chunk.receive_channel, received);
    return;
  }
  const std::uint32_t distance =
      chunk.phase.algorithm == Algorithm::kDirect ? chunk.sent % (chunk.size - 1) + 1 : 1;
  const bool forward = !chunk.phase.is_anticlockwise;
  ++chunk.sent;
  send(chunk.rank, neighbour(chunk, distance, forward), chunk.tag, chunk.message, {});
  receive(chunk.rank, neighbour(chunk, distance, !forward), chunk.tag, chunk.message, received);
}

}  // namespace orrery::astra
