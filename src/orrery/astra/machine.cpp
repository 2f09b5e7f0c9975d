// SPDX-License-Identifier: Apache-2.0
#include "orrery/astra/machine.hpp"

#include <fmt/format.h>

#include "orrery/astra/custom_run.hpp"
#include "orrery/astra/endpoint_bus.hpp"

namespace orrery::astra {

Machine::Machine(const Inputs& inputs, const Traces& traces, const Groups& groups, const Folding* folding,
                 engine::Engine& engine, Warnings& warnings)
    : inputs_{inputs},
      system_{inputs.system},
      groups_{groups},
      folding_{folding},
      warnings_{warnings},
      npus_{inputs.network.npus()},
      instants_{engine, *this, folding != nullptr},
      channels_{[this](Channel& channel) { fabric_.prepare(channel); }},
      fabric_{inputs.network, inputs.is_aware, folding != nullptr, instants_, channels_},
      chunks_per_queue_{(system_.active_chunks + inputs.queues_per_dim - 1) / inputs.queues_per_dim} {
  const std::size_t dims = inputs.network.dims.size();
  ranks_.resize(folding == nullptr ? npus_ : 1);
  agendas_.resize(ranks_.size());
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    RankState& state = ranks_[rank];
    state.trace = traces.ranks[rank];
    state.first_id = traces.first_ids[rank];
    state.queues.resize(dims * inputs.queues_per_dim);
    state.turns.resize(dims, {.any = 0, .lower = 0, .upper = inputs.queues_per_dim / 2});
    if (system_.bus.modelled) state.bus = std::make_unique<EndpointBus>(*this, rank);
  }
  if (inputs.memory.kind == MemoryKind::kPool) memories_.resize(1);
  if (inputs.memory.kind == MemoryKind::kPerNode) {
    const std::uint64_t npus = std::uint64_t{inputs.memory.nodes} * inputs.memory.npus_per_node;
    if (npus < npus_) {
      throw InputError{fmt::format("{}: num-nodes x num-npus-per-node is {}, but there are {} NPUs",
                                   inputs.memory.source, npus, npus_)};
    }
    memories_.resize(inputs.memory.nodes);
  }
  engine.add_watch(*this);
}

Machine::~Machine() = default;

void Machine::start() {
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    RankState& state = ranks_[rank];
    state.waiting_for = state.trace->parents;
    for (std::uint32_t i = 0; i < state.waiting_for.size(); ++i) {
      if (state.waiting_for[i] == 0) make_ready(state, i);
    }
    issue_ready(rank);
    finish_if_done(rank);
  }
}

void Machine::on_event(std::uint64_t payload) {
  instants_.run(payload, [this](const Event& event, const Provenance& provenance) {
    if (folding_ != nullptr) observe(event, provenance);
    switch (event.kind) {
      case EventKind::kArrival:
        if (fabric_.advance(event.subject)) deliver(event.subject);
        break;
      case EventKind::kLinkFree:
        fabric_.release(event.subject);
        break;
      case EventKind::kRank:
        run_batch(event.subject);
        break;
      case EventKind::kReceive: {
        const Notice notice = notices_[event.subject];
        notices_.give_back(event.subject);
        notify(notice);
        break;
      }
    }
  });
}

/// A folded run goes on only while the event's place in the order is the same for every rank.
void Machine::observe(const Event& event, const Provenance& provenance) {
  bool at_switch = false;
  std::uint32_t chunk = TieWatch::kNoChunk;
  if (event.kind == EventKind::kArrival) {
    at_switch = fabric_.is_before_switch(event.subject);
    const Message& message = fabric_.message(event.subject);
    if (!at_switch && message.hops == 1) {
      const Channel& channel = channels_[message.channel];
      if (channel.has_waiting && channel.waiting.kind == Notice::Kind::kChunk) {
        chunk = channel.waiting.subject;
      }
    }
  } else if (event.kind == EventKind::kLinkFree) {
    at_switch = fabric_.leaves_switch(event.subject);
  }
  ties_.see(instants_.now(), at_switch, provenance, chunk);
}

RankTimes Machine::times(std::uint32_t rank) const {
  const RankState& state = ranks_[rank];
  const auto busy = [&](Activity activity) { return state.busy[static_cast<std::size_t>(activity)].total; };
  return {.cycles = state.cycles,
          .exposed_cycles = state.cycles - state.gpu_ticks,
          .gpu_cycles = busy(Activity::kGpu),
          .communication_cycles = busy(Activity::kCommunication),
          .cpu_cycles = busy(Activity::kCpu),
          .memory_cycles = busy(Activity::kMemory),
          .overlap_cycles = state.overlap.total};
}

}  // namespace orrery::astra
