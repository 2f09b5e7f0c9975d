// SPDX-License-Identifier: Apache-2.0
// Laws of every registered collective algorithm: its schedules compute what the operation promises.
#include <gtest/gtest.h>

#include "orrery/collectives/plan/plan_cases.hpp"
#include "orrery/collectives/plan/symbolic_executor.hpp"

namespace orrery::collectives::plan {
namespace {

constexpr Rank kAllSizesUpTo = 33;
constexpr std::uint64_t kSeed = 20'240'611;

class EveryAlgorithm : public testing::TestWithParam<std::string> {
 protected:
  const AlgorithmRegistry registry_ = builtin_algorithms();
  const Algorithm& algorithm_ = registry_.get(GetParam());
};

TEST_P(EveryAlgorithm, ComputesWhatTheOperationPromises) {
  std::uint64_t tested = 0;
  for (Rank ranks = 1; ranks <= kAllSizesUpTo; ++ranks) {
    for (const PlanRequest& request : plan_cases(ranks)) {
      if (!algorithm_.refusal(request).empty()) continue;
      const auto schedule = algorithm_.plan(request);
      ASSERT_EQ(symbolic_problem(*schedule, request, kSeed + tested), "") << to_text(request);
      ++tested;
    }
  }
  EXPECT_GT(tested, 0U) << "every request was refused";
  RecordProperty("schedules", std::to_string(tested));
}

/// What a symbolic run takes; bounds keep the test short.
bool is_affordable(const Schedule& schedule, const PlanRequest& request) {
  constexpr std::uint64_t kMaxWords = 1U << 22;
  constexpr std::uint64_t kMaxActions = 600'000;
  std::uint64_t actions = 0;
  for (Rank rank = 0; rank < schedule.participants(); ++rank) actions += schedule.length(rank, 0);
  const std::uint64_t cells = std::uint64_t{schedule.participants()} * schedule.chunk_count();
  return actions <= kMaxActions && cells * ((request.ranks + 63) / 64) <= kMaxWords;
}

TEST_P(EveryAlgorithm, ComputesItForLargeGroups) {
  for (const Rank ranks : {64U, 100U, 127U, 256U, 510U, 1000U, 1024U}) {
    for (const PlanRequest& request : few_plan_cases(ranks)) {
      if (!algorithm_.refusal(request).empty()) continue;
      if (request.operation == Operation::kAllToAll && ranks > 127) continue;
      const auto schedule = algorithm_.plan(request);
      if (!is_affordable(*schedule, request)) continue;
      ASSERT_EQ(symbolic_problem(*schedule, request, kSeed + ranks), "") << to_text(request);
    }
  }
}

// The one schedule that everybody runs, at the size where it can no longer be looked through.
TEST(Ring, AllReduceOfAThousandRanks) {
  const AlgorithmRegistry registry = builtin_algorithms();
  const PlanRequest request{.operation = Operation::kAllReduce, .ranks = 1024};
  EXPECT_EQ(symbolic_problem(*registry.get("ring").plan(request), request, kSeed), "");
}

TEST_P(EveryAlgorithm, NamesEachPeerOnceAndNothingOutside) {
  for (Rank ranks = 1; ranks <= kAllSizesUpTo; ++ranks) {
    for (const PlanRequest& request : plan_cases(ranks)) {
      if (!algorithm_.refusal(request).empty()) continue;
      const auto schedule = algorithm_.plan(request);
      const auto list = schedule->chunk_list();
      for (const std::uint32_t chunk : list) ASSERT_LT(chunk, schedule->chunk_count());
      for (Rank rank = 0; rank < schedule->participants(); ++rank) {
        for (std::uint32_t lane = 0; lane < schedule->lanes(rank); ++lane) {
          const std::vector<Rank> peers = schedule->peers(rank, lane);
          std::vector<bool> is_known(schedule->participants(), false);
          is_known[rank] = true;  // Nobody is its own peer.
          for (const Rank peer : peers) {
            ASSERT_LT(peer, schedule->participants()) << to_text(request);
            ASSERT_FALSE(is_known[peer]) << peer << " of " << rank << ": " << to_text(request);
            is_known[peer] = true;
          }
          for (std::uint64_t index = 0; index < schedule->length(rank, lane); ++index) {
            const Action action = schedule->action(rank, lane, index);
            ASSERT_LT(action.peer, peers.size()) << to_text(request);
            const std::uint64_t limit = action.chunks.listed ? list.size() : schedule->chunk_count();
            ASSERT_LE(std::uint64_t{action.chunks.first} + action.chunks.count, limit) << to_text(request);
            ASSERT_GT(action.chunks.count, 0U) << to_text(request);
          }
        }
      }
    }
  }
}

TEST_P(EveryAlgorithm, RefusesMalformedRequests) {
  for (const Operation operation : algorithm_.operations) {
    EXPECT_NE(algorithm_.refusal({.operation = operation, .ranks = 0}), "");
    EXPECT_NE(algorithm_.refusal({.operation = operation, .ranks = 4, .root = 4}), "");
    EXPECT_NE(algorithm_.refusal({.operation = operation, .ranks = 4, .pieces = 0}), "");
    EXPECT_NE(algorithm_.refusal({.operation = operation, .ranks = 4, .dims = {2, 3}}), "");
    EXPECT_NE(algorithm_.refusal({.operation = operation, .ranks = 1U << 31, .pieces = 1024}), "");
    EXPECT_EQ(algorithm_.refusal({.operation = operation, .ranks = 1}), "");
    const auto alone = algorithm_.plan({.operation = operation, .ranks = 1});
    EXPECT_EQ(alone->length(0, 0), 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Builtin, EveryAlgorithm, testing::ValuesIn(algorithm_names()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace orrery::collectives::plan
