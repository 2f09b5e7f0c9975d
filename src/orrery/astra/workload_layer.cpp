// SPDX-License-Identifier: Apache-2.0
// Each rank walks its trace: what is ready is issued by ascending id, as far as the CPU, the compute stream and the
// communication stream are free; what is not is looked at again whenever something of that rank completes.
#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "orrery/astra/machine.hpp"

namespace orrery::astra {
namespace {

Resource resource_of(const Step& step) {
  if (step.on_cpu) return Resource::kCpu;
  if (step.kind == OpKind::kCompute) return Resource::kCompute;
  if (step.kind == OpKind::kReceive) return Resource::kUnlimited;
  return Resource::kCommunication;
}

std::optional<Activity> activity_of(const Step& step) {
  switch (step.kind) {
    case OpKind::kCompute:
      return step.on_cpu ? Activity::kCpu : Activity::kGpu;
    case OpKind::kCollective:
    case OpKind::kSend:
    case OpKind::kReceive:
      return Activity::kCommunication;
    case OpKind::kLoad:
    case OpKind::kStore:
      return Activity::kMemory;
    case OpKind::kNone:
      break;
  }
  return std::nullopt;
}

void open(BusyTime& busy, std::uint64_t now) {
  if (busy.open++ == 0) busy.since = now;
}

void close(BusyTime& busy, std::uint64_t now) {
  if (--busy.open == 0) busy.total += now - busy.since;
}

}  // namespace

void Machine::make_ready(RankState& state, std::uint32_t step) {
  auto& heap = state.ready[static_cast<std::size_t>(resource_of(state.trace->steps[step]))];
  heap.push_back(step);
  std::ranges::push_heap(heap, std::greater{});
  ++state.ready_count;
}

/// What becomes ready during a pass (behind a node that does nothing) waits for the next one, as in ASTRA-sim. When
/// nothing of the rank is under way there would never be one, and ASTRA-sim stops without a word; we make one.
void Machine::issue_ready(std::uint32_t rank) {
  RankState& state = ranks_[rank];
  for (;;) {
    for (;;) {
      std::size_t best = kResources;
      for (std::size_t i = 0; i < kResources; ++i) {
        if (state.ready[i].empty() || state.taken[i]) continue;
        if (best == kResources || state.ready[i].front() < state.ready[best].front()) best = i;
      }
      if (best == kResources) break;
      auto& heap = state.ready[best];
      const std::uint32_t step = heap.front();
      std::ranges::pop_heap(heap, std::greater{});
      heap.pop_back();
      --state.ready_count;
      issue(rank, step);
    }
    for (const std::uint32_t step : state.freed) make_ready(state, step);
    state.freed.clear();
    if (state.ready_count == 0 || state.ongoing > 0) return;
  }
}

void Machine::issue(std::uint32_t rank, std::uint32_t index) {
  RankState& state = ranks_[rank];
  const Step& step = state.trace->steps[index];
  ++state.ongoing;
  const Resource resource = resource_of(step);
  if (resource != Resource::kUnlimited) state.taken[static_cast<std::size_t>(resource)] = true;
  open_activity(state, step);
  if (resource == Resource::kCommunication || resource == Resource::kUnlimited) state.open.push_back(index);
  if (system_.replay_only) {
    replay(rank, index, step);
    return;
  }
  const bool is_message = step.kind == OpKind::kSend || step.kind == OpKind::kReceive;
  if (is_message && step.peer == rank) {
    throw InputError{
        fmt::format("rank {}: {}: a message to itself aborts ASTRA-sim", rank, describe_step(rank, step))};
  }
  const Notice done{.kind = Notice::Kind::kStep, .subject = rank, .step = index};
  switch (step.kind) {
    case OpKind::kCompute:
      issue_compute(rank, index, step);
      break;
    case OpKind::kCollective:
      issue_collective(rank, index, step);
      break;
    case OpKind::kSend:
      send(rank, step.peer, step.tag, step.size, done);
      break;
    case OpKind::kReceive:
      receive(rank, step.peer, step.tag, step.size, done);
      break;
    case OpKind::kLoad:
    case OpKind::kStore:
      issue_memory(rank, index, step);
      break;
    case OpKind::kNone:
      release(rank, index);
      break;
  }
}

void Machine::issue_compute(std::uint32_t rank, std::uint32_t index, const Step& step) {
  if (!system_.roofline || step.on_cpu) {
    replay(rank, index, step);
    return;
  }
  if (step.size == 0) {
    release(rank, index);
    return;
  }
  if (step.flops == 0) {
    throw InputError{
        fmt::format("rank {}: {}: the roofline needs num_ops, more than 0", rank, describe_step(rank, step))};
  }
  const double operations = static_cast<double>(step.flops);
  const double intensity = operations / static_cast<double>(step.size);
  const double rate = std::min(system_.memory_bandwidth * intensity, system_.peak);
  const auto duration = static_cast<std::uint64_t>(operations / rate * 1e9);
  ranks_[rank].gpu_ticks += duration;
  plan(rank, duration, {.kind = Callback::Kind::kStep, .subject = index});
}

void Machine::replay(std::uint32_t rank, std::uint32_t index, const Step& step) {
  const std::uint64_t duration = std::max<std::uint64_t>(step.duration, 1);
  if (!step.on_cpu) ranks_[rank].gpu_ticks += duration;
  plan(rank, duration, {.kind = Callback::Kind::kStep, .subject = index});
}

/// The step is done: its resource is free, and what waited for it alone may start with the next pass.
void Machine::release(std::uint32_t rank, std::uint32_t index) {
  RankState& state = ranks_[rank];
  const Trace& trace = *state.trace;
  const Step& step = trace.steps[index];
  const Resource resource = resource_of(step);
  if (resource != Resource::kUnlimited) state.taken[static_cast<std::size_t>(resource)] = false;
  close_activity(state, step);
  if (resource == Resource::kCommunication || resource == Resource::kUnlimited) {
    state.open.erase(std::ranges::find(state.open, index));  // Few: messages that are waited for.
  }
  --state.ongoing;
  for (std::uint32_t i = trace.first_child[index]; i < trace.first_child[index + 1]; ++i) {
    const std::uint32_t child = trace.children[i];
    if (--state.waiting_for[child] == 0) state.freed.push_back(child);
  }
}

void Machine::complete(std::uint32_t rank, std::uint32_t index) {
  RankState& state = ranks_[rank];
  release(rank, index);
  for (const std::uint32_t step : state.freed) make_ready(state, step);
  state.freed.clear();
  issue_ready(rank);
  finish_if_done(rank);
}

void Machine::finish_if_done(std::uint32_t rank) {
  RankState& state = ranks_[rank];
  if (state.is_finished || state.ready_count > 0 || state.ongoing > 0) return;
  state.is_finished = true;
  state.cycles = instants_.now();
}

void Machine::open_activity(RankState& state, const Step& step) {
  const auto activity = activity_of(step);
  if (!activity) return;
  const std::uint64_t now = instants_.now();
  open(state.busy[static_cast<std::size_t>(*activity)], now);
  const auto is_open = [&](Activity which) { return state.busy[static_cast<std::size_t>(which)].open > 0; };
  if (state.overlap.open == 0 && is_open(Activity::kGpu) && is_open(Activity::kCommunication)) {
    open(state.overlap, now);
  }
}

void Machine::close_activity(RankState& state, const Step& step) {
  const auto activity = activity_of(step);
  if (!activity) return;
  const std::uint64_t now = instants_.now();
  BusyTime& busy = state.busy[static_cast<std::size_t>(*activity)];
  close(busy, now);
  if (busy.open == 0 && state.overlap.open > 0 &&
      (*activity == Activity::kGpu || *activity == Activity::kCommunication)) {
    close(state.overlap, now);
  }
}

}  // namespace orrery::astra
