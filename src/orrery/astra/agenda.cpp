// SPDX-License-Identifier: Apache-2.0
// What a rank does later, by instant.
#include <algorithm>
#include <functional>

#include "orrery/astra/custom_run.hpp"
#include "orrery/astra/endpoint_bus.hpp"
#include "orrery/astra/machine.hpp"

namespace orrery::astra {

Batch* Agenda::find_later(std::uint64_t time) {
  const auto found = std::ranges::lower_bound(later_, time, std::greater{}, &Batch::time);
  return found == later_.end() || found->time != time ? nullptr : &*found;
}

void Agenda::add_later(const Batch& batch) {
  const Batch* kept = &batch;
  Batch moved;
  if (batch.time < first_.time) {
    moved = first_;
    first_ = batch;
    kept = &moved;
  }
  later_.insert(std::ranges::lower_bound(later_, kept->time, std::greater{}, &Batch::time), *kept);
}

void Machine::plan(std::uint32_t rank, std::uint64_t delay, const Callback& callback) {
  Agenda& agenda = agendas_[rank];
  const std::uint64_t time = instants_.now() + delay;
  Batch* batch = agenda.find(time);
  if (batch == nullptr) {
    agenda.add({.time = time, .first = callback, .last = kNone});
    instants_.add(delay, EventKind::kRank, rank, kActorSelf);
    return;
  }
  const std::uint32_t number = callbacks_.take();
  callbacks_[number] = callback;
  (batch->last == kNone ? batch->first.next : callbacks_[batch->last].next) = number;
  batch->last = number;
}

/// Callbacks that are planned for this instant meanwhile join the batch.
void Machine::run_batch(std::uint32_t rank) {
  ORRERY_DCHECK(agendas_[rank].front().time == instants_.now(), "a batch is run at its time");
  const Callback first = agendas_[rank].front().first;
  run_callback(rank, first);
  for (std::uint32_t at = agendas_[rank].front().first.next; at != kNone;) {
    const Callback callback = callbacks_[at];
    run_callback(rank, callback);
    const std::uint32_t next = callbacks_[at].next;
    callbacks_.give_back(at);
    at = next;
  }
  agendas_[rank].pop_front();
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
