// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/select/effort.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/collectives/plan/plan_cases.hpp"

namespace orrery::collectives {
namespace {

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 62;

PlanRequest request_of(Rank ranks, Operation operation = Operation::kAllReduce) {
  PlanRequest request;
  request.operation = operation;
  request.ranks = ranks;
  return request;
}

Choice choice_of(const std::string& algorithm, Rank ranks) {
  Choice choice;
  choice.algorithm = choice.label = algorithm;
  choice.request = request_of(ranks);
  return choice;
}

std::vector<std::string> names_of(const std::vector<Choice>& choices) {
  std::vector<std::string> names;
  for (const Choice& choice : choices) names.push_back(choice.algorithm);
  return names;
}

std::uint64_t sends_of(const Schedule& schedule) {
  std::uint64_t sends = 0;
  for (Rank rank = 0; rank < schedule.participants(); ++rank) {
    for (std::uint32_t lane = 0; lane < schedule.lanes(rank); ++lane) {
      for (std::uint64_t index = 0; index < schedule.length(rank, lane); ++index) {
        sends += schedule.action(rank, lane, index).kind == ActionKind::kSend ? 1U : 0U;
      }
    }
  }
  return sends;
}

TEST(Effort, MessagesOfEveryAlgorithmAreItsSends) {
  const AlgorithmRegistry registry = builtin_algorithms();
  for (const Algorithm& algorithm : registry.all()) {
    for (const Rank ranks : {1U, 2U, 7U, 8U}) {
      for (const PlanRequest& request : plan::plan_cases(ranks)) {
        if (!algorithm.refusal(request).empty()) continue;
        const auto schedule = algorithm.plan(request);
        EXPECT_EQ(count_messages(*schedule), sends_of(*schedule)) << algorithm.name;
        EXPECT_GE(effort_of(*schedule, kNoLimit), count_messages(*schedule)) << algorithm.name;
      }
    }
  }
}

TEST(Effort, SendsInARowCountForEachOther) {
  const AlgorithmRegistry registry = builtin_algorithms();
  EXPECT_EQ(effort_of(*registry.get("pairwise").plan(request_of(10)), kNoLimit), 10U * 2 * 9);
  EXPECT_EQ(effort_of(*registry.get("direct").plan(request_of(10)), kNoLimit), 10U * 2 * 9 * 9);
  EXPECT_LE(effort_of(*registry.get("direct").plan(request_of(500)), 1000), 3000U);  // Stops soon.
}

TEST(Effort, TheBudgetDropsWhatIsAboveAndSaysSo) {
  const AlgorithmRegistry registry = builtin_algorithms();
  EffortBudget budget{registry, 5'000'000};
  std::vector<Choice> choices;
  for (const char* name : {"ring", "direct", "recursive_doubling", "one_shot", "pairwise"}) {
    choices.push_back(choice_of(name, 1000));
  }
  budget.apply(choices);
  EXPECT_THAT(names_of(choices), testing::ElementsAre("ring", "recursive_doubling", "pairwise"));
  ASSERT_EQ(budget.dropped().size(), 2U);
  EXPECT_EQ(budget.dropped()[0].algorithm, "direct");
  EXPECT_EQ(budget.dropped()[0].messages, 2U * 1000 * 999);
}

TEST(Effort, TheLeastStaysWhenAllAreAbove) {
  const AlgorithmRegistry registry = builtin_algorithms();
  EffortBudget budget{registry, 10};
  std::vector<Choice> choices{choice_of("ring", 100), choice_of("one_shot", 100), choice_of("direct", 100)};
  budget.apply(choices);
  EXPECT_THAT(names_of(choices), testing::ElementsAre("one_shot"));
}

}  // namespace
}  // namespace orrery::collectives
