// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/collective_board.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"

namespace orrery::workload {

using collectives::CollectiveRun;

CollectiveBoard::CollectiveBoard(Setup setup)
    : setup_{std::move(setup)},
      planner_{{.cluster = setup_.cluster,
                .router = setup_.router,
                .algorithm = setup_.algorithm,
                .fallback = setup_.fallback,
                .catalog = setup_.catalog,
                .algorithm_of = setup_.algorithm_of}},
      origin_{setup_.engine.add_origin("collectives")},
      dependence_{setup_.network.dependence()} {
  for (const ProcessGroup& group : setup_.groups) {
    states_.push_back({.next = std::vector<std::uint64_t>(group.size(), 0)});
  }
  // Links that change make every moment another one; a timeline shows every message.
  setup_.folds = setup_.folds && !setup_.wakefulness.matters() && setup_.streams == 1 &&
                 setup_.cluster.events.empty() &&
                 setup_.cluster.jitter.empty() && setup_.engine.observer() == nullptr &&
                 dependence_ != network::Dependence::kOnHistory;
}

CollectiveBoard::~CollectiveBoard() = default;

CollectiveInstance& CollectiveBoard::open_instance(std::uint32_t group, std::uint64_t number) {
  const auto [found, is_new] = states_[group].open.emplace(number, 0);
  if (!is_new) return *instances_[found->second];
  std::uint32_t place = static_cast<std::uint32_t>(instances_.size());
  if (free_places_.empty()) {
    instances_.emplace_back();
  } else {
    place = free_places_.back();
    free_places_.pop_back();
  }
  found->second = place;
  InstanceOwner& owner = *this;
  instances_[place] = std::make_unique<CollectiveInstance>(owner, setup_.groups[group], number);
  instances_[place]->place = place;
  instances_[place]->group_index = group;
  return *instances_[place];
}

void CollectiveBoard::post(Rank rank, Slot slot, const Communication& what) {
  ProcessGroup& group = setup_.groups[what.group];
  const Rank member = group.member(rank);
  if (member == kNoSlot) {
    throw SimulationError{
        fmt::format("rank {}: {}: the rank is not in {}", rank, to_text(what), to_text(group))};
  }
  CollectiveInstance& instance = open_instance(what.group, states_[what.group].next[member]++);
  const Time now = setup_.engine.now();
  instance.call(member, slot, what, now);  // Its sizes are checked.
  const std::string_view name = collectives::to_text(what.operation);
  if (!setup_.wakefulness.sleeps_on(rank, name, group.size())) {
    instance.wakes(setup_.wakefulness.wake(rank, name, buffer_of(what, group.size()), now));
  }
  if (touched_.empty() || touched_.back() != instance.place) touched_.push_back(instance.place);
  setup_.engine.ask_to_settle(*this);
}

void CollectiveBoard::settle() {
  // Who calls at this instant has called. What follows may end members, but posts nothing.
  retire();
  std::vector<std::uint32_t> touched;
  touched.swap(touched_);
  std::ranges::sort(touched);
  const auto rest = std::ranges::unique(touched);
  touched.erase(rest.begin(), rest.end());
  for (const std::uint32_t place : touched) attend(*instances_[place]);
}

void CollectiveBoard::attend(CollectiveInstance& instance) {
  if (instance.is_complete()) announce(instance);
  if (!instance.let_in() && instance.can_start()) start(instance);
}

void CollectiveBoard::announce(CollectiveInstance& instance) {
  if (instance.is_announced) return;
  instance.is_announced = true;
  const ProcessGroup& group = instance.group();
  for (Rank member = 0; member < group.size(); ++member) {
    if (instance.has_ended(member)) continue;  // A broadcast's root may wait for nobody.
    setup_.listener.on_under_way(group.ranks[member], instance.slot(member));
  }
}

void CollectiveBoard::start(CollectiveInstance& instance) {
  ProcessGroup& group = instance.group();
  const collectives::CollectiveRequest request = instance.request();
  std::shared_ptr<const collectives::Plan> plan =
      planner_.plan(instance.group_index, group.nodes, group.ranks, request);
  network::NetworkModel* network = &setup_.network;
  if (may_fold(instance)) {
    if (fold(instance, plan)) return;
    instance.memo = std::make_shared<CollectiveMemo>(CollectiveMemo{.plan = plan});
    instance.counting = std::make_unique<CountingNetwork>(setup_.network);
    network = instance.counting.get();
  }
  CollectiveRun::Setup setup{setup_.engine, *network,           setup_.router,      *plan->schedule,
                             plan->layout,  plan->choice.nodes, plan->choice.costs, {}};
  if (setup_.engine.observer() != nullptr) {
    setup.name = fmt::format("{} ({}, {})", collectives::to_text(request.operation), plan->choice.label,
                             orrery::to_text(request.size));
    setup.names = group.names;
    setup.track_group = "communication";
  }
  setup.origin = origin_;
  setup.connections = &group.connections;
  setup.wiring = plan->wiring;
  setup.notice = plan->choice.notice;
  setup.is_watched = false;
  instance.start(std::move(plan), std::move(setup));
  instance.let_in();
}

bool CollectiveBoard::may_fold(const CollectiveInstance& instance) const {
  if (!setup_.folds || !instance.is_even()) return false;
  const bool is_alone = dependence_ == network::Dependence::kOnStream ||
                        (instance.group().size() == setup_.ranks && over_.empty());
  // Switches of the group's last one may still be busy with its connections.
  return is_alone && std::ranges::none_of(over_, [&](std::uint32_t place) {
           return instances_[place]->group_index == instance.group_index;
         });
}

bool CollectiveBoard::fold(CollectiveInstance& instance,
                           const std::shared_ptr<const collectives::Plan>& plan) {
  const auto found = memos_.find(plan.get());
  if (found == memos_.end()) return false;
  instance.memo = found->second;
  instance.is_folded = true;
  if (instance.memo->uses++ == 0) used_memos_.push_back(instance.memo);
  for (std::size_t i = 0; i < instance.memo->ends.size(); ++i) {
    setup_.engine.schedule(setup_.engine.now() + instance.memo->ends[i].after, engine::Phase::kCompletion,
                           origin_, *this, (std::uint64_t{instance.place} << 32) | i);
  }
  return true;
}

void CollectiveBoard::on_event(std::uint64_t payload) {
  CollectiveInstance& instance = *instances_[payload >> 32];
  const std::shared_ptr<CollectiveMemo> memo = instance.memo;
  for (const Rank member : memo->ends[payload & 0xFFFFFFFF].members) instance.end(member);
}

void CollectiveBoard::on_member_done(CollectiveInstance& instance, Rank member) {
  if (instance.memo && !instance.is_folded) {
    instance.memo->add_end(setup_.engine.now() - instance.first_call(), member);
  }
  const Rank rank = instance.group().ranks[member];
  const Slot slot = instance.slot(member);
  const std::string_view name = collectives::to_text(instance.first().operation);
  if (!setup_.wakefulness.sleeps_on(rank, name, instance.group().size())) {
    setup_.wakefulness.end(rank, setup_.engine.now());
  }
  if (instance.is_over()) {
    account(instance);
    // We may be inside its run: it is destroyed later.
    states_[instance.group_index].open.erase(instance.number());
    over_.push_back(instance.place);
  }
  setup_.listener.on_communicated(rank, slot);
}

void CollectiveBoard::keep_memo(CollectiveInstance& instance) {
  CollectiveMemo& memo = *instance.memo;
  // With other ends, whoever is through first may have sent something that mattered to the rest.
  if (dependence_ == network::Dependence::kOnTraffic && memo.ends.size() != 1) return;
  memo.wire_bytes = instance.run()->wire_bytes();
  memo.messages = instance.run()->messages();
  memo.routes = instance.counting->take_routes();
  constexpr std::size_t kMostMemos = 4096;
  if (memos_.size() >= kMostMemos) memos_.clear();
  memos_.emplace(memo.plan.get(), instance.memo);
}

void CollectiveBoard::retire() {
  while (!over_.empty() && instances_[over_.front()]->is_idle()) {
    CollectiveInstance& instance = *instances_[over_.front()];
    if (instance.memo && !instance.is_folded) keep_memo(instance);
    free_places_.push_back(over_.front());
    instances_[over_.front()].reset();
    over_.pop_front();
  }
}

void CollectiveBoard::account(const CollectiveInstance& instance) {
  const collectives::Plan& plan = instance.is_folded ? *instance.memo->plan : *instance.plan();
  const collectives::CollectiveRequest request = instance.request();
  const std::string operation{collectives::to_text(request.operation)};
  CollectiveTotal& total =
      totals_[{operation, instance.group().name, request.size.count(), plan.choice.label}];
  if (total.calls == 0) {
    total.operation = operation;
    total.group = instance.group().name;
    total.algorithm = plan.choice.label;
    total.name = instance.first().name;
    total.ranks = instance.group().size();
    total.size = request.size;
  }
  ++total.calls;
  const Duration time = setup_.engine.now() - instance.last_call();
  total.time += time;
  total.longest = std::max(total.longest, time);
  total.waiting += instance.last_call() - instance.first_call();
  total.folded += instance.is_folded ? 1 : 0;
  total.messages += instance.is_folded ? instance.memo->messages : instance.run()->messages();
  total.wire_bytes += instance.is_folded ? instance.memo->wire_bytes : instance.run()->wire_bytes();
}

CollectiveBoard::Waiting CollectiveBoard::waiting(Rank rank, Slot slot, std::uint32_t group) const {
  const Rank member = setup_.groups[group].member(rank);
  for (const auto& [number, place] : states_[group].open) {
    const CollectiveInstance& instance = *instances_[place];
    if (instance.slot(member) != slot || instance.has_ended(member)) continue;
    Waiting waiting{.number = number + 1};
    for (Rank other = 0; other < instance.group().size(); ++other) {
      if (!instance.has_called(other)) waiting.missing.push_back(instance.group().ranks[other]);
    }
    return waiting;
  }
  return {};
}

std::vector<CollectiveTotal> CollectiveBoard::totals() const {
  std::vector<CollectiveTotal> totals;
  for (const auto& [key, total] : totals_) totals.push_back(total);
  return totals;
}

void CollectiveBoard::add_folded_traffic(std::vector<network::LinkCounters>& counters) const {
  for (const std::shared_ptr<CollectiveMemo>& memo : used_memos_) {
    const auto times = static_cast<std::int64_t>(memo->uses);
    for (std::size_t route = 0; route < memo->routes.size(); ++route) {
      const network::LinkCounters& sent = memo->routes[route];
      if (sent.messages == 0) continue;
      for (const topology::LinkId link : setup_.router.links(topology::RouteId{route})) {
        counters[link.index()].messages += sent.messages * memo->uses;
        counters[link.index()].bytes += sent.bytes * times;
      }
    }
  }
}

}  // namespace orrery::workload
