// SPDX-License-Identifier: Apache-2.0
// What a rank does later, by instant.
#include "orrery/astra/custom_run.hpp"
#include "orrery/astra/endpoint_bus.hpp"
#include "orrery/astra/machine.hpp"

namespace orrery::astra {

Batch& Agenda::at(std::uint64_t time, bool& is_new) {
  std::size_t place = batches_.size();
  while (place > head_ && batches_[place - 1].time > time) --place;
  is_new = place == head_ || batches_[place - 1].time != time;
  if (!is_new) return batches_[place - 1];
  if (head_ > 64 && head_ * 2 > batches_.size()) {  // What has been run makes room.
    batches_.erase(batches_.begin(), batches_.begin() + static_cast<std::ptrdiff_t>(head_));
    place -= head_;
    head_ = 0;
  }
  return *batches_.insert(batches_.begin() + static_cast<std::ptrdiff_t>(place), Batch{.time = time});
}

void Machine::plan(std::uint32_t rank, std::uint64_t delay, Callback callback) {
  bool is_new = false;
  Batch& batch = ranks_[rank].agenda.at(instants_.now() + delay, is_new);
  const std::uint32_t number = callbacks_.take();
  callback.next = kNone;
  callbacks_[number] = callback;
  if (batch.first == kNone) {
    batch.first = number;
  } else {
    callbacks_[batch.last].next = number;
  }
  batch.last = number;
  if (is_new) instants_.add(delay, EventKind::kRank, rank, kActorSelf);
}

/// Callbacks that are planned for this instant meanwhile join the batch.
void Machine::run_batch(std::uint32_t rank) {
  Agenda& agenda = ranks_[rank].agenda;
  ORRERY_DCHECK(agenda.front().time == instants_.now(), "a batch is run at its time");
  for (std::uint32_t at = agenda.front().first; at != kNone;) {
    const Callback callback = callbacks_[at];
    run_callback(rank, callback);
    const std::uint32_t next = callbacks_[at].next;
    callbacks_.give_back(at);
    at = next;
  }
  agenda.pop_front();
}

void Machine::run_callback(std::uint32_t rank, const Callback& callback) {
  switch (callback.kind) {
    case Callback::Kind::kEndpointReduce:
      plan(rank, chunks_[callback.subject].reduction,
           {.kind = Callback::Kind::kReduced, .subject = callback.subject});
      break;
    case Callback::Kind::kEndpoint:
    case Callback::Kind::kReduced:
      chunk_ready(callback.subject);
      break;
    case Callback::Kind::kStep:
      complete(rank, callback.subject);
      break;
    case Callback::Kind::kDataset:
      finish_dataset_part(callback.subject);
      break;
    case Callback::Kind::kMemory:
      memory_is_free(callback.subject);
      break;
    case Callback::Kind::kCustom:
      chunks_[callback.subject].custom->done(callback.detail);
      break;
    case Callback::Kind::kBus:
      ranks_[rank].bus->on_event(callback.subject, callback.detail);
      break;
  }
}

}  // namespace orrery::astra
