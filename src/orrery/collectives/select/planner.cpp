// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/select/planner.hpp"

#include "orrery/base/error.hpp"

namespace orrery::collectives {
namespace {

constexpr std::size_t kMostPlans = 1024;
constexpr std::uint32_t kMostWired = 64;  // Participants: all of them may have a channel to all others.

/// The request as bytes: looked up for every collective.
std::string key_of(std::uint64_t group, const CollectiveRequest& request) {
  std::string key;
  const auto add = [&](auto value) { key.append(reinterpret_cast<const char*>(&value), sizeof value); };
  add(group);
  add(request.operation);
  add(request.size.count());
  add(request.root);
  add(request.element.count());
  add(request.floating);
  for (const Bytes size : request.sizes) add(size.count());
  return key;
}

}  // namespace

Planner::Planner(Setup setup) : setup_{std::move(setup)}, algorithms_{builtin_algorithms()} {}

Choice Planner::choose(const CollectiveRequest& request, const SelectionContext& context) const {
  const auto own = setup_.algorithm_of.find(request.operation);
  const std::string& algorithm = own == setup_.algorithm_of.end() ? setup_.algorithm : own->second;
  try {
    return select(algorithm, request, context).front();
  } catch (const InputError&) {
    if (algorithm == setup_.fallback) throw;
    return select(setup_.fallback, request, context).front();
  }
}

std::shared_ptr<const Plan> Planner::plan(std::uint64_t group, std::span<const topology::NodeId> nodes,
                                          std::span<const Rank> ranks, const CollectiveRequest& request) {
  std::string key = key_of(group, request);
  if (const auto found = plans_.find(key); found != plans_.end()) return found->second;
  const SelectionContext context{.cluster = setup_.cluster,
                                 .router = setup_.router,
                                 .algorithms = algorithms_,
                                 .nodes = nodes,
                                 .ranks = ranks,
                                 .catalog = setup_.catalog};
  Choice choice = choose(request, context);
  std::shared_ptr<const Schedule> schedule =
      choice.schedule ? choice.schedule : algorithms_.get(choice.algorithm).plan(choice.request);
  // What is really run may be another operation: gloo's reduce_scatter is an all_reduce.
  Layout layout = layout_of(request, *schedule);
  auto wiring = schedule->participants() <= kMostWired ? CollectiveRun::wire(*schedule) : nullptr;
  auto made = std::make_shared<const Plan>(
      Plan{std::move(choice), std::move(schedule), std::move(layout), std::move(wiring)});
  if (plans_.size() >= kMostPlans) plans_.clear();
  return plans_.emplace(std::move(key), std::move(made)).first->second;
}

}  // namespace orrery::collectives
