// SPDX-License-Identifier: Apache-2.0
// A collective becomes chunks, a chunk phases: one per dimension it visits, or two.
#include <fmt/format.h>

#include "orrery/astra/custom_run.hpp"
#include "orrery/astra/machine.hpp"

namespace orrery::astra {
namespace {

constexpr std::uint32_t kCollectiveTags = 500'000'000;  // Their tags start here; below are those of messages.
constexpr std::uint32_t kChunksPerGroup = 1'000'000;

constexpr int kAnyTurn = 0;
constexpr int kLowerTurn = 1;
constexpr int kUpperTurn = 2;

}  // namespace

/// A collective whose size does not divide evenly gets one more chunk, of full size.
void Machine::issue_collective(std::uint32_t rank, std::uint32_t index, const Step& step) {
  RankState& state = ranks_[rank];
  const std::uint32_t dataset = datasets_.take();
  datasets_[dataset] = {.rank = rank, .step = index, .total = 1, .finished = 0};
  if (step.is_broadcast) {
    const std::uint64_t duration = std::max<std::uint64_t>(step.duration, 1);
    plan(rank, duration, {.kind = Callback::Kind::kDataset, .subject = dataset});
    return;
  }
  if (system_.splits == 0) {
    throw InputError{
        fmt::format("{}: 'preferred-dataset-splits' is not given; collectives need it", system_.source)};
  }
  const auto fail = [&](const std::string& reason) {
    throw SimulationError{fmt::format("rank {}: {}: {}", rank, describe_step(rank, step), reason)};
  };
  const std::shared_ptr<const Plan> how = plan_of(rank, step);
  std::uint64_t size = step.size;
  std::uint64_t part = size / system_.splits;
  if (step.collective != Collective::kAllGather && part < npus_) {
    part = npus_;
    size = system_.splits * part;
  }
  if (part == 0) {
    fail(fmt::format("fewer bytes than preferred-dataset-splits ({}); ASTRA-sim never ends", system_.splits));
  }
  const std::int32_t priority = next_priority(state, step);
  const auto launch_chunk = [&](std::vector<Phase>&& phases, std::unique_ptr<CustomRun> custom) {
    const std::uint32_t number = chunks_.take();
    Chunk& chunk = chunks_[number];
    chunk = Chunk{};
    chunk.rank = rank;
    chunk.dataset = dataset;
    chunk.tag = next_tag(state, step);
    chunk.priority = priority;
    chunk.phases = std::move(phases);
    if (custom != nullptr) {
      custom->bind(number);
      chunk.custom = std::move(custom);
    }
    next_phase(number);
  };
  if (!how->custom.empty()) {
    if (system_.splits != 1) {
      fail(fmt::format(
          "a custom collective runs as one chunk; with preferred-dataset-splits {} ASTRA-sim waits for "
          "more for ever (write 1)",
          system_.splits));
    }
    launch_chunk({Phase{.size = size, .is_custom = true}}, CustomRun::open(*this, rank, step, how->custom));
    return;
  }
  std::uint32_t count = 0;
  for (; size > 0; size -= std::min(size, part)) ++count;
  datasets_[dataset].total = count;
  for (std::uint32_t i = 0; i < count; ++i) {
    std::vector<Phase> phases;
    split(rank, step, *how, part, phases);
    if (phases.empty()) fail("it involves no dimension of more than one rank; ASTRA-sim never finishes it");
    launch_chunk(std::move(phases), nullptr);
  }
}

/// all-gather visits the dimensions from outside in, the others from inside out. A localBWAware all-reduce scatters on
/// the way out, reduces in the outermost dimension, and gathers on the way back.
void Machine::split(std::uint32_t rank, const Step& step, const Plan& how, std::uint64_t size,
                    std::vector<Phase>& phases) {
  RankState& state = ranks_[rank];
  const auto dims = static_cast<std::uint32_t>(how.dims.size());
  std::vector<std::uint32_t> active;
  for (std::uint32_t dim = 0; dim < dims; ++dim) {
    const bool is_involved = how.ignores_dims || ((step.dims >> dim) & 1U) != 0;
    if (is_involved && circles_[how.dims[dim].circle].size > 1) active.push_back(dim);
  }
  const auto add = [&](Collective part, std::uint32_t dim, int turn) {
    phases.push_back(make_phase(state, step.collective, part, how, dim, size, turn));
  };
  if (step.collective != Collective::kAllReduce || !system_.is_local_bw_aware) {
    if (step.collective == Collective::kAllGather) active = {active.rbegin(), active.rend()};
    for (const std::uint32_t dim : active) add(step.collective, dim, kAnyTurn);
    return;
  }
  if (active.empty()) return;
  for (std::size_t i = 0; i + 1 < active.size(); ++i) add(Collective::kReduceScatter, active[i], kLowerTurn);
  add(Collective::kAllReduce, active.back(), kLowerTurn);
  for (std::size_t i = active.size() - 1; i-- > 0;) add(Collective::kAllGather, active[i], kUpperTurn);
}

/// The phase of `part` in `dim`; `size` becomes what is left behind it.
Phase Machine::make_phase(RankState& state, Collective whole, Collective part, const Plan& how,
                          std::uint32_t dim, std::uint64_t& size, int turn) {
  const PlanDimension& place = how.dims[dim];
  const std::uint32_t queues = inputs_.queues_per_dim;
  const std::uint32_t half = queues / 2;
  QueueTurn& turns = state.turns[dim];
  Phase phase{.size = size,
              .circle = place.circle,
              .window = place.choice.window,
              .collective = part,
              .algorithm = place.choice.algorithm};
  std::uint32_t queue = 0;
  if (turn == kAnyTurn) {
    phase.is_anticlockwise = queues > 1 && turns.any >= half;
    queue = turns.any++;
    if (turns.any >= queues) turns.any = 0;
  } else if (turn == kLowerTurn) {
    queue = turns.lower++;
    if (turns.lower >= half) turns.lower = 0;
  } else {
    phase.is_anticlockwise = true;
    queue = turns.upper++;
    if (turns.upper >= queues) turns.upper = half;
  }
  phase.queue = dim * queues + queue;
  if (place.choice.algorithm == Algorithm::kDoubleBinaryTree) {
    auto& taken = state.trees[static_cast<std::size_t>(whole)];
    if (taken.size() <= dim) taken.resize(dim + 1, 0);
    phase.is_second_tree = taken[dim]++ % 2 == 1;
    return phase;  // Whatever is asked for, the tree does an all-reduce.
  }
  const std::uint32_t members = circles_[place.circle].size;
  if (part == Collective::kReduceScatter) size /= members;
  if (part == Collective::kAllGather) size *= members;
  return phase;
}

std::int32_t Machine::next_priority(RankState& state, const Step& step) const {
  switch (system_.policy) {
    case Policy::kLifo:
      return state.priority++;
    case Policy::kFifo:
      return state.priority--;
    case Policy::kExplicit:
      break;
  }
  return step.priority;
}

std::uint32_t Machine::next_tag(RankState& state, const Step& step) const {
  std::uint64_t number = state.chunks++;
  if (step.group != kAllRanks) {
    const auto id = static_cast<std::uint64_t>(groups_.all()[step.group].id);
    number = id * kChunksPerGroup + state.groups[step.group].chunks++;
  }
  return static_cast<std::uint32_t>(number % kCollectiveTags) + kCollectiveTags;
}

void Machine::finish_dataset_part(std::uint32_t number) {
  Dataset& dataset = datasets_[number];
  if (++dataset.finished < dataset.total) return;
  const Dataset done = dataset;
  datasets_.give_back(number);
  complete(done.rank, done.step);
}

}  // namespace orrery::astra
