// SPDX-License-Identifier: Apache-2.0
// Which algorithm a collective uses, and over whom.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "orrery/astra/custom_run.hpp"
#include "orrery/astra/machine.hpp"

namespace orrery::astra {

std::shared_ptr<const Plan> Machine::plan_of(std::uint32_t rank, const Step& step) {
  if (step.group != kAllRanks) return group_plan(rank, step);
  const auto of_node = system_.node_custom.find(step.id + ranks_[rank].first_id);
  const std::string& custom = of_node != system_.node_custom.end()
                                  ? of_node->second
                                  : system_.custom[static_cast<std::size_t>(step.collective)];
  if (custom.empty()) return native_plan(step.collective);
  return std::make_shared<const Plan>(Plan{.dims = {}, .custom = custom, .ignores_dims = false});
}

/// Over the dimensions of the network: one circle each, or one over all NPUs from the first one* form on.
std::shared_ptr<const Plan> Machine::native_plan(Collective collective) {
  auto& known = native_plans_[static_cast<std::size_t>(collective)];
  if (known != nullptr) return known;
  const std::vector<Choice>& choices = system_.choices[static_cast<std::size_t>(collective)];
  if (choices.empty()) {
    throw InputError{fmt::format("{}: the workload has an {}, but '{}-implementation' is not given",
                                 system_.source, to_text(collective), to_text(collective))};
  }
  Plan plan;
  std::uint32_t stride = 1;
  bool is_flattened = false;
  for (std::size_t dim = 0; dim < choices.size() && !is_flattened; ++dim) {
    is_flattened = choices[dim].flattened;
    Circle circle{.size = inputs_.network.dims[dim].size, .stride = stride};
    stride *= circle.size;
    if (is_flattened) circle = {.size = npus_, .stride = 1};
    circle.is_last = dim + 1 == choices.size();
    check_choice(collective, choices[dim], circle);
    plan.dims.push_back({.circle = static_cast<std::uint32_t>(circles_.size()), .choice = choices[dim]});
    circles_.push_back(std::move(circle));
  }
  if (!is_flattened && choices.size() < inputs_.network.dims.size()) {
    warnings_.push_back(fmt::format(
        "{}-implementation has {} entries for {} dimensions: ASTRA-sim leaves the outer dimensions out of "
        "the collective; so do we",
        to_text(collective), choices.size(), inputs_.network.dims.size()));
  }
  known = std::make_shared<const Plan>(std::move(plan));
  return known;
}

void Machine::check_choice(Collective collective, const Choice& choice, const Circle& circle) const {
  const auto fail = [&](const std::string& reason) {
    throw InputError{fmt::format("{}: {}-implementation: '{}' {}", system_.source, to_text(collective),
                                 choice.text, reason)};
  };
  const bool is_tree = choice.algorithm == Algorithm::kDoubleBinaryTree;
  if (!is_tree && choice.algorithm != Algorithm::kHalvingDoubling) return;
  if (!std::has_single_bit(circle.size)) {
    fail(fmt::format("needs a power of two of NPUs, not {}; ASTRA-sim {}", circle.size,
                     is_tree ? "crashes" : "never finishes"));
  }
  if (!is_tree && collective == Collective::kAllToAll) fail("cannot do an all-to-all");
  if (is_tree && circle.is_group()) fail("cannot run in a group smaller than the cluster; ASTRA-sim crashes");
  if (is_tree && circle.is_last && circle.stride * circle.size < npus_) {
    fail("in the last entry must be the outermost dimension; ASTRA-sim crashes");
  }
}

/// The first collective of a kind decides for all later ones of the group on this rank.
std::shared_ptr<const Plan> Machine::group_plan(std::uint32_t rank, const Step& step) {
  GroupState& state = ranks_[rank].groups[step.group];
  auto& known = state.plans[static_cast<std::size_t>(step.collective)];
  if (known != nullptr) return known;
  const Group& group = groups_.all()[step.group];
  Step without_group = step;
  without_group.group = kAllRanks;
  const std::shared_ptr<const Plan> whole = plan_of(rank, without_group);
  Plan plan = *whole;
  plan.ignores_dims = true;
  if (std::ranges::find(group.members, rank) == group.members.end()) {
    throw InputError{
        fmt::format("rank {}: {}: the rank is not in group {}", rank, describe_step(rank, step), group.name)};
  }
  if (group.members.size() < npus_ && plan.custom.empty()) {
    const bool is_multi = system_.choices[static_cast<std::size_t>(step.collective)].size() > 1;
    const Choice choice =
        is_multi ? Choice{.algorithm = Algorithm::kRing, .text = "ring"} : plan.dims[0].choice;
    const auto [circle, is_new] =
        group_circles_.try_emplace(step.group, static_cast<std::uint32_t>(circles_.size()));
    if (is_new) {
      circles_.push_back({.size = static_cast<std::uint32_t>(group.members.size()),
                          .stride = 1,
                          .members = group.members,
                          .is_last = true});
    }
    check_choice(step.collective, choice, circles_[circle->second]);
    plan.dims = {{.circle = circle->second, .choice = choice}};
  }
  known = std::make_shared<const Plan>(std::move(plan));
  return known;
}

}  // namespace orrery::astra
