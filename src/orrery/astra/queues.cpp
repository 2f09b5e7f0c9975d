// SPDX-License-Identifier: Apache-2.0
// Queues of a dimension: so many chunks run at once; the others wait by priority, then by arrival.
#include "orrery/astra/custom_run.hpp"
#include "orrery/astra/machine.hpp"

namespace orrery::astra {

/// Behind everything of the same or a higher priority; what has started is never overtaken.
void Machine::enqueue(std::uint32_t number) {
  Chunk& chunk = chunks_[number];
  Queue& queue = ranks_[chunk.rank].queues[chunk.phase.queue];
  chunk.is_started = false;
  std::uint32_t before = kNone;  // Whom the chunk comes before.
  const bool is_last =
      queue.last == kNone || chunks_[queue.last].is_started || chunks_[queue.last].priority >= chunk.priority;
  if (!is_last) {
    before = queue.first_waiting;
    while (chunks_[before].priority >= chunk.priority) before = chunks_[before].next;
  }
  chunk.next = before;
  chunk.previous = before == kNone ? queue.last : chunks_[before].previous;
  (chunk.previous == kNone ? queue.first : chunks_[chunk.previous].next) = number;
  (before == kNone ? queue.last : chunks_[before].previous) = number;
  if (queue.first_waiting == before) queue.first_waiting = number;
}

void Machine::dequeue(std::uint32_t number) {
  const Chunk& chunk = chunks_[number];
  Queue& queue = ranks_[chunk.rank].queues[chunk.phase.queue];
  (chunk.previous == kNone ? queue.first : chunks_[chunk.previous].next) = chunk.next;
  (chunk.next == kNone ? queue.last : chunks_[chunk.next].previous) = chunk.previous;
}

void Machine::start_waiting(std::uint32_t rank, std::uint32_t number) {
  // By index every time: starting a chunk may add to the very queue.
  while (ranks_[rank].queues[number].first_waiting != kNone &&
         ranks_[rank].queues[number].running < chunks_per_queue_) {
    Queue& queue = ranks_[rank].queues[number];
    const std::uint32_t chunk = queue.first_waiting;
    queue.first_waiting = chunks_[chunk].next;
    ++queue.running;
    chunks_[chunk].is_started = true;
    start_chunk(chunk);
  }
}

/// The order is ASTRA-sim's: a collective that is done wakes its rank before its last chunk leaves its queue; a chunk
/// joins its next queue before those that wait in the old one start, then those of the new one.
void Machine::next_phase(std::uint32_t number) {
  Chunk& chunk = chunks_[number];
  const std::uint32_t rank = chunk.rank;
  const bool was_queued = chunk.next_phase > 0;
  const std::uint32_t old = chunk.phase.queue;
  const bool is_done = chunk.next_phase == chunk.phases.size();
  if (was_queued) {
    if (chunk.send_channel != kNone) channels_.let_go(chunk.send_channel);
    if (chunk.receive_channel != kNone) channels_.let_go(chunk.receive_channel);
    chunk.send_channel = kNone;
    chunk.receive_channel = kNone;
    if (is_done) finish_dataset_part(chunk.dataset);
    dequeue(number);
  }
  if (!is_done) {
    chunk.phase = chunk.phases[chunk.next_phase++];
    enqueue(number);
  }
  if (was_queued) {
    --ranks_[rank].queues[old].running;
    start_waiting(rank, old);
  }
  if (!is_done) {
    start_waiting(rank, chunk.phase.queue);
    return;
  }
  chunk.custom.reset();
  chunks_.give_back(number);
}

}  // namespace orrery::astra
