// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/select/effort.hpp"

#include <algorithm>

namespace orrery::collectives {

std::uint64_t count_messages(const Schedule& schedule) {
  std::uint64_t actions = 0;
  for (Rank rank = 0; rank < schedule.participants(); ++rank) {
    for (std::uint32_t lane = 0; lane < schedule.lanes(rank); ++lane) actions += schedule.length(rank, lane);
  }
  return actions / 2;
}

std::uint64_t effort_of(const Schedule& schedule, std::uint64_t limit) {
  std::uint64_t effort = 0;
  for (Rank rank = 0; rank < schedule.participants(); ++rank) {
    for (std::uint32_t lane = 0; lane < schedule.lanes(rank); ++lane) {
      const std::uint64_t length = schedule.length(rank, lane);
      std::uint64_t row = 0;
      for (std::uint64_t index = 0; index < length && effort <= limit; ++index) {
        row = schedule.action(rank, lane, index).kind == ActionKind::kSend ? row + 1 : 0;
        if (row > 0) effort += 2 * row - 1;  // From (row - 1)^2 to row^2.
      }
    }
  }
  return effort;
}

const EffortBudget::Cost& EffortBudget::cost_of(const Choice& choice) {
  const auto [place, is_new] = costs_.try_emplace({choice.algorithm, choice.request.pieces});
  if (is_new) {
    const std::unique_ptr<Schedule> schedule = algorithms_.get(choice.algorithm).plan(choice.request);
    place->second.messages = count_messages(*schedule);
    place->second.is_above =
        place->second.messages > limit_ || effort_of(*schedule, limit_) > limit_;  // The first is quick.
  }
  return place->second;
}

void EffortBudget::apply(std::vector<Choice>& choices) {
  const auto messages = [this](const Choice& choice) { return cost_of(choice).messages; };
  const auto is_above = [this](const Choice& choice) { return cost_of(choice).is_above; };
  if (choices.empty()) return;
  std::string kept;
  if (std::ranges::all_of(choices, is_above)) {
    kept = std::ranges::min_element(choices, {}, messages)->algorithm;
  }
  std::erase_if(choices, [&](const Choice& choice) {
    if (!is_above(choice) || choice.algorithm == kept) return false;
    std::uint64_t& most = dropped_[choice.algorithm];
    most = std::max(most, messages(choice));
    return true;
  });
}

std::vector<EffortBudget::Dropped> EffortBudget::dropped() const {
  std::vector<Dropped> list;
  list.reserve(dropped_.size());
  for (const auto& [algorithm, messages] : dropped_) list.push_back({algorithm, messages});
  return list;
}

}  // namespace orrery::collectives
