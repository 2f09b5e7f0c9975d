// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/executor.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.hpp"

namespace orrery::workload {
namespace {

/// Events: an operation ends, or a rank looks for what it can start.
constexpr std::uint64_t kIssue = std::uint64_t{1} << 63;

constexpr std::uint64_t pack_end(Rank rank, Slot slot) { return (std::uint64_t{rank} << 32) | slot; }

std::size_t default_window(Rank ranks) {
  constexpr std::size_t kAll = std::size_t{1} << 22;
  constexpr std::size_t kLeast = 4096;
  constexpr std::size_t kMost = std::size_t{1} << 18;
  return std::clamp(kAll / std::max<std::size_t>(ranks, 1), kLeast, kMost);
}

std::uint32_t count_of(const Streams& streams, Resource resource) {
  switch (resource) {
    case Resource::kCpu:
      return streams.cpu;
    case Resource::kCompute:
      return streams.compute;
    case Resource::kCommunication:
      return streams.communication;
    case Resource::kMemory:
      return streams.memory;
    case Resource::kNothing:
      break;
  }
  return 0;
}

Activity activity_of(const LoadedOp& op) {
  return op.kind == OpKind::kCompute ? Activity::kCompute : Activity::kMemory;
}

bool is_communication(const LoadedOp& op) { return op.detail != kNoSlot; }

}  // namespace

Executor::Executor(Setup setup)
    : setup_{std::move(setup)},
      origin_{setup_.engine.add_origin("workload")},
      groups_{make_groups(setup_.workload, setup_.cluster)},
      keeps_names_{setup_.recorder != nullptr || setup_.engine.observer() != nullptr},
      names_{std::string{}},
      wakefulness_{setup_.cluster},
      collectives_{{.engine = setup_.engine,
                    .network = setup_.network,
                    .router = setup_.router,
                    .cluster = setup_.cluster,
                    .listener = *this,
                    .wakefulness = wakefulness_,
                    .groups = groups_,
                    .algorithm = setup_.algorithm,
                    .fallback = setup_.fallback,
                    .catalog = setup_.catalog,
                    .algorithm_of = setup_.algorithm_of,
                    .ranks = setup_.workload.ranks,
                    .streams = setup_.streams.communication,
                    .folds = setup_.folds}},
      messages_{{.engine = setup_.engine,
                 .network = setup_.network,
                 .router = setup_.router,
                 .cluster = setup_.cluster,
                 .listener = *this,
                 .wakefulness = wakefulness_,
                 .ranks = setup_.workload.ranks,
                 .eager_limit = setup_.eager_limit}} {
  for (std::uint32_t i = 0; i < groups_.size(); ++i) group_of_name_.emplace(groups_[i].name, i);
  const std::size_t window = setup_.window == 0 ? default_window(setup_.workload.ranks) : setup_.window;
  OpBinder& binder = *this;
  for (Rank rank = 0; rank < setup_.workload.ranks; ++rank) {
    ranks_.push_back(std::make_unique<RankState>(rank, setup_.workload.open(rank), window, binder));
    for (std::size_t i = 0; i < kResourceCount; ++i) {
      const std::uint32_t count = count_of(setup_.streams, static_cast<Resource>(i));
      ranks_[rank]->free[i] = count == 0 ? ~std::uint32_t{0} : count;
    }
  }
  if (engine::Observer* observer = setup_.engine.observer(); observer != nullptr) {
    for (Rank rank = 0; rank < setup_.workload.ranks; ++rank) {
      static_cast<void>(
          observer->track("ranks", fmt::format("rank {}", rank)));  // In order, whoever comes first.
    }
  }
  setup_.engine.add_watch(*this);
}

Executor::~Executor() { setup_.engine.remove_watch(*this); }

const topology::DeviceSpec& Executor::device(Rank rank) const {
  return setup_.cluster.devices[setup_.cluster.device_of_rank[rank]];
}

void Executor::bind(Rank rank, const Op& op, LoadedOp& loaded) {
  // A wide window takes long to fill, and no event happens meanwhile.
  constexpr std::uint64_t kInterruptEvery = 1U << 14;
  if (++read_ % kInterruptEvery == 0 && setup_.wants_stop != nullptr && (*setup_.wants_stop)()) {
    throw engine::Interrupted{};
  }
  if (keeps_names_) {
    const auto [found, is_new] = name_ids_.emplace(op.name, static_cast<std::uint32_t>(names_.size()));
    if (is_new) names_.push_back(op.name);
    loaded.name = found->second;
  }
  loaded.is_detached = op.is_detached;
  if (setup_.memory != nullptr) setup_.memory->expect(rank, op);
  switch (op.kind) {
    case OpKind::kNone:
      loaded.resource = Resource::kNothing;
      break;
    case OpKind::kCompute:
      loaded.resource = op.on_cpu ? Resource::kCpu : Resource::kCompute;
      loaded.duration = setup_.compute.of(op, rank, device(rank));
      break;
    case OpKind::kLoad:
    case OpKind::kStore:
      loaded.resource = Resource::kMemory;
      loaded.duration = setup_.compute.of_memory(op, rank, device(rank));
      break;
    case OpKind::kReceive:
      // Only waits: if it held the stream, two ranks that receive before they send would wait for ever.
      loaded.resource = Resource::kNothing;
      bind_communication(rank, op, loaded);
      break;
    case OpKind::kCollective:
    case OpKind::kSend:
      loaded.resource = Resource::kCommunication;
      bind_communication(rank, op, loaded);
      break;
  }
}

void Executor::bind_communication(Rank rank, const Op& op, LoadedOp& loaded) {
  loaded.detail = communications_.take();
  Communication& what = communications_[loaded.detail];
  what.kind = op.kind;
  what.operation = op.operation;
  what.id = op.id;
  what.name = op.name;
  what.size = op.size;
  what.root = op.root;
  what.peer = op.peer;
  what.tag = op.tag;
  what.sizes = op.sizes;
  what.element = op.element;
  what.is_floating = op.is_floating;
  what.group = 0;
  if (op.kind != OpKind::kCollective || op.group.empty()) return;
  const auto found = group_of_name_.find(op.group);
  if (found == group_of_name_.end()) {
    std::vector<std::string> names;
    for (const ProcessGroup& group : groups_) names.push_back(group.name);
    throw InputError{{.source = fmt::format("rank {}: node {} '{}'", rank, op.id, op.name),
                      .position = {},
                      .field = "group",
                      .value = op.group,
                      .expected = "no group of that name is defined",
                      .nearest = nearest_name(op.group, names)}};
  }
  what.group = found->second;
}

void Executor::run() {
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    ranks_[rank]->program.refill();
    wake(rank);
  }
  do {
    setup_.engine.run();
  } while (done_ < ranks_.size() && grow_windows());
  // What waits for ever is reported by report_blocked(); this is for what nobody thought of.
  if (done_ < ranks_.size()) {
    throw SimulationError{fmt::format("only {} of {} ranks finished", done_, ranks_.size())};
  }
}

bool Executor::grow_windows() {
  bool has_grown = false;
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    if (!ranks_[rank]->program.grow()) continue;
    has_grown = true;
    wake(rank);
  }
  return has_grown;
}

void Executor::wake(Rank rank) {
  RankState& state = *ranks_[rank];
  if (state.is_woken) return;
  state.is_woken = true;
  setup_.engine.schedule(setup_.engine.now(), engine::Phase::kWake, origin_, *this, kIssue | rank);
}

void Executor::on_event(std::uint64_t payload) {
  if ((payload & kIssue) != 0) {
    issue(static_cast<Rank>(payload & 0xFFFFFFFF));
    return;
  }
  const auto rank = static_cast<Rank>(payload >> 32);
  const auto slot = static_cast<Slot>(payload & 0xFFFFFFFF);
  RankState& state = *ranks_[rank];
  state.clock.end(activity_of(state.program.op(slot)), setup_.engine.now());
  finish(rank, slot);
  wake(rank);
}

void Executor::issue(Rank rank) {
  RankState& state = *ranks_[rank];
  state.is_woken = false;
  bool has_started = true;
  while (has_started) {
    has_started = false;
    for (std::size_t i = 0; i < kResourceCount; ++i) {
      has_started = issue_from(rank, static_cast<Resource>(i)) || has_started;
    }
    if (!has_started && state.program.is_stuck()) has_started = state.program.grow();
  }
  check_progress(rank);
}

bool Executor::issue_from(Rank rank, Resource resource) {
  RankState& state = *ranks_[rank];
  std::uint32_t& free = state.free[static_cast<std::size_t>(resource)];
  bool has_started = false;
  while (free > 0) {
    const std::optional<Slot> slot = state.program.take_ready(resource);
    if (!slot) break;
    has_started = true;
    --free;
    begin(rank, *slot);
  }
  return has_started;
}

void Executor::begin(Rank rank, Slot slot) {
  RankState& state = *ranks_[rank];
  LoadedOp& op = state.program.op(slot);
  const Time now = setup_.engine.now();
  op.begin = now;
  if (setup_.recorder != nullptr) setup_.recorder->on_begin(rank, op.id);
  if (is_communication(op)) {
    const Communication& what = communications_[op.detail];
    state.clock.begin(Activity::kWaiting, now);
    state.clock.times().bytes += what.size.count();
    if (op.kind == OpKind::kCollective) {
      collectives_.post(rank, slot, what);
    } else {
      messages_.post(rank, slot, what);
    }
    return;
  }
  if (op.duration == Duration{}) return finish(rank, slot);
  state.clock.begin(activity_of(op), now);
  setup_.engine.schedule(saturating_add(now, op.duration), engine::Phase::kCompletion, origin_, *this,
                         pack_end(rank, slot));
}

void Executor::on_under_way(Rank rank, Slot slot) {
  RankState& state = *ranks_[rank];
  LoadedOp& op = state.program.op(slot);
  op.is_moving = true;
  state.clock.end(Activity::kWaiting, setup_.engine.now());
  state.clock.begin(Activity::kMoving, setup_.engine.now());
}

void Executor::on_communicated(Rank rank, Slot slot) {
  RankState& state = *ranks_[rank];
  const LoadedOp& op = state.program.op(slot);
  state.clock.end(op.is_moving ? Activity::kMoving : Activity::kWaiting, setup_.engine.now());
  finish(rank, slot);
  wake(rank);
}

void Executor::finish(Rank rank, Slot slot) {
  RankState& state = *ranks_[rank];
  const LoadedOp& op = state.program.op(slot);
  if (keeps_names_) record(rank, op);
  if (setup_.memory != nullptr) setup_.memory->finish(rank, op.id, op.begin, setup_.engine.now());
  ++state.free[static_cast<std::size_t>(op.resource)];
  ++state.clock.times().operations;
  ++finished_;
  if (op.detail != kNoSlot) communications_.give_back(op.detail);
  if (!op.is_detached) state.clock.times().finish = setup_.engine.now();
  state.program.finish(slot);
}

void Executor::check_progress(Rank rank) {
  RankState& state = *ranks_[rank];
  if (state.is_done) return;
  if (state.program.is_done()) {
    state.is_done = true;
    ++done_;
    return;
  }
  if (!state.program.is_stuck()) return;
  // Nothing runs, nothing is ready and nothing is left to read: it will never be done.
  const std::optional<RankProgram::Obstacle> obstacle = state.program.find_obstacle();
  ORRERY_CHECK(obstacle.has_value(), "rank {} is stuck for no reason", rank);
  throw SimulationError{obstacle_text(rank, *obstacle)};
}

std::string Executor::track_of(Rank rank, const LoadedOp& op) const {
  switch (op.resource) {
    case Resource::kCpu:
      return fmt::format("rank {} cpu", rank);
    case Resource::kMemory:
      return fmt::format("rank {} memory", rank);
    default:
      return fmt::format("rank {}", rank);
  }
}

void Executor::record(Rank rank, const LoadedOp& op) const {
  const Time now = setup_.engine.now();
  const std::string& name = names_[op.name];
  if (engine::Observer* observer = setup_.engine.observer(); observer != nullptr) {
    // A collective draws itself.
    const bool is_drawn = op.kind != OpKind::kNone && op.kind != OpKind::kCollective;
    if (is_drawn && op.begin < now) {
      const char* group = is_communication(op) ? "communication" : "ranks";
      observer->span(observer->track(group, track_of(rank, op)), name.empty() ? "node" : name, op.begin, now,
                     fmt::format("node {}", op.id));
    }
  }
  if (setup_.recorder == nullptr) return;
  setup_.recorder->on_op({.rank = rank,
                          .id = op.id,
                          .kind = op.kind,
                          .resource = op.resource,
                          .name = &name,
                          .communication = is_communication(op) ? &communications_[op.detail] : nullptr,
                          .begin = op.begin,
                          .end = now});
}

std::vector<network::LinkCounters> Executor::link_counters() const {
  std::vector<network::LinkCounters> counters = setup_.network.link_counters();
  collectives_.add_folded_traffic(counters);
  return counters;
}

}  // namespace orrery::workload
