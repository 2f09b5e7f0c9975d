// SPDX-License-Identifier: Apache-2.0
#include "orrery/astra/custom_run.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/astra/machine.hpp"

namespace orrery::astra {
namespace {

/// Passes operations on and notes their order.
class NotedSource final : public workload::OpSource {
 public:
  NotedSource(std::unique_ptr<workload::OpSource> source, HashedOrder& order)
      : source_{std::move(source)}, order_{order} {}
  bool next(workload::Op& op) override {
    if (!source_->next(op)) return false;
    std::vector<std::uint64_t> parents = op.data_deps;
    parents.insert(parents.end(), op.control_deps.begin(), op.control_deps.end());
    order_.add(op.id, parents);
    return true;
  }

 private:
  std::unique_ptr<workload::OpSource> source_;
  HashedOrder& order_;
};

void check_kinds(const Trace& trace, const std::string& name) {
  for (const Step& step : trace.steps) {
    if (step.kind == OpKind::kSend || step.kind == OpKind::kReceive || step.kind == OpKind::kCompute) {
      continue;
    }
    throw InputError{fmt::format(
        "{}: {}: a custom collective consists of sends, receives and compute; ASTRA-sim never finishes it",
        name, describe(step))};
  }
  if (trace.steps.empty()) throw InputError{fmt::format("{}: a custom collective without nodes", name)};
}

/// The file of one place of `places`. The same file may serve groups and all ranks: its peers are looked at later.
CustomTrace read_custom(const workload::Workload& workload, const std::string& prefix, std::uint32_t place,
                        std::uint32_t places, std::uint32_t npus) {
  const std::string name = fmt::format("{}.{}.et", prefix, place);
  if (place >= workload.ranks) {
    throw InputError{fmt::format("{}: no such file, but the collective has {} ranks", name, places)};
  }
  CustomTrace custom;
  NotedSource source{workload.open(place), custom.order};
  custom.trace = read_trace(source, name, npus, nullptr, false);
  check_kinds(*custom.trace, name);
  custom.order.seal();
  return custom;
}

}  // namespace

void HashedOrder::allocate(std::uint64_t id) {
  parents_.try_emplace(id);
  children_.try_emplace(id);
}

void HashedOrder::add(std::uint64_t id, const std::vector<std::uint64_t>& parents) {
  allocate(id);
  const auto enter = [&](const Set& set) {
    for (const std::uint64_t parent : set) {
      allocate(parent);
      parents_[id].insert(parent);
      children_[parent].insert(id);
    }
  };
  Set unique;
  for (const std::uint64_t parent : parents) unique.insert(parent);
  enter(unique);
}

void HashedOrder::seal() {
  for (const auto& [id, parents] : parents_) {  // tidy-allow: unordered, because this order is what counts
    if (parents.empty()) free_.insert(id);
  }
}

void HashedOrder::take(std::uint64_t id) {
  free_.erase(id);
  ++ongoing_;
}

void HashedOrder::finish(std::uint64_t id) {
  --ongoing_;
  const Set& children = children_[id];
  for (const std::uint64_t child : children) {
    parents_[child].erase(id);
    if (parents_[child].empty()) free_.insert(child);
  }
  parents_.erase(id);
  children_.erase(id);
}

std::unique_ptr<CustomRun> CustomRun::open(Machine& machine, std::uint32_t rank, const Step& step,
                                           const std::string& prefix) {
  std::uint32_t place = rank;
  std::uint32_t places = machine.npus_;
  if (step.group != kAllRanks) {
    std::vector<std::uint32_t> members = machine.groups_.all()[step.group].members;
    std::ranges::sort(members);
    place = static_cast<std::uint32_t>(std::ranges::find(members, rank) - members.begin());
    places = static_cast<std::uint32_t>(members.size());
  }
  auto& workload = machine.custom_workloads_[prefix];
  if (!workload.open) workload = machine.inputs_.open_custom(prefix);
  auto& known = machine.custom_traces_[{prefix, place}];
  if (known == nullptr) {
    known = std::make_unique<const CustomTrace>(read_custom(workload, prefix, place, places, machine.npus_));
  }
  return std::unique_ptr<CustomRun>{new CustomRun{machine, rank, step.group, *known}};
}

std::uint32_t CustomRun::real_rank(std::uint32_t place) const {
  if (group_ == kAllRanks) return place;
  const Group& group = machine_.groups_.all()[group_];
  if (place < group.members.size()) return group.members[place];
  throw InputError{fmt::format("rank {}: its custom collective names peer {}, but group {} has {} ranks",
                               rank_, place, group.name, group.members.size())};
}

void CustomRun::issue_ready() {
  for (const std::uint64_t id : order_.ready()) {
    const auto found = std::ranges::lower_bound(trace_->steps, id, {}, &Step::id);
    issue(static_cast<std::uint32_t>(found - trace_->steps.begin()));
  }
}

void CustomRun::issue(std::uint32_t index) {
  const Step& step = trace_->steps[index];
  order_.take(step.id);
  const Notice done{.kind = Notice::Kind::kCustom, .subject = chunk_, .step = index};
  if (step.kind == OpKind::kCompute) {
    const std::uint64_t duration = std::max<std::uint64_t>(step.duration, 1);
    machine_.plan(rank_, duration, {.kind = Callback::Kind::kCustom, .subject = chunk_, .detail = index});
    return;
  }
  const std::uint32_t peer = real_rank(step.peer);
  if (peer == rank_) {
    throw InputError{fmt::format("rank {}: custom collective: {} is with itself", rank_, describe(step))};
  }
  if (step.kind == OpKind::kSend) {
    machine_.send(rank_, peer, step.tag, step.size, done);
  } else {
    machine_.receive(rank_, peer, step.tag, step.size, done);
  }
}

void CustomRun::done(std::uint32_t step) {
  order_.finish(trace_->steps[step].id);
  issue_ready();
  if (order_.is_done()) machine_.next_phase(chunk_);  // Nothing after this: it ends this object.
}

}  // namespace orrery::astra
