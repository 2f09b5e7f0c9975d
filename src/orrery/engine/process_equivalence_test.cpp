// SPDX-License-Identifier: Apache-2.0
// Goal: it does not matter what carries a process. Method: random programs on coroutines, threads and processes of
// the operating system, disturbed, pinned, and with any number of places, give one and the same history.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/engine/testing/carriers.hpp"

namespace orrery::engine::testing {
namespace {

/// The history on coroutines, which is deterministic by construction, is what the others are held against.
void expect_same(const Outcome& expected, const Outcome& outcome) {
  EXPECT_EQ(outcome.error, expected.error);
  EXPECT_EQ(outcome.digest, expected.digest);
  EXPECT_EQ(outcome.executed, expected.executed);
  EXPECT_EQ(outcome.end, expected.end);
  EXPECT_TRUE(outcome.logs == expected.logs) << "what the processes saw differs";
}

ScenarioOptions shape(std::uint64_t seed, int most, int length) {
  return {.processes = 1 + static_cast<int>(seed % static_cast<std::uint64_t>(most)),
          .length = length,
          .deadlocks = false};
}

TEST(ProcessEquivalence, CoroutinesRepeatThemselvesAndEnd) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    SCOPED_TRACE(seed);
    const Scenario scenario = random_scenario(seed, shape(seed, 12, 200));
    const Outcome first = run_scenario(scenario, Carrier::kCoroutines);
    ASSERT_EQ(first.error, "");
    ASSERT_GT(first.executed, 200U);
    expect_same(first, run_scenario(scenario, Carrier::kCoroutines));
  }
}

TEST(ProcessEquivalence, ThreadsLikeCoroutines) {
  for (std::uint64_t seed = 0; seed < 64; ++seed) {
    const Scenario scenario = random_scenario(seed, shape(seed, 7, 60));
    const Outcome expected = run_scenario(scenario, Carrier::kCoroutines);
    for (const std::uint32_t concurrency : {1U, 2U, 8U}) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", concurrency " << concurrency);
      const CarrierOptions options{.concurrency = concurrency,
                                   .disturb = seed % 3 == 0 ? 0 : seed * 8 + concurrency,
                                   .pin = seed % 2 == 0,
                                   .may_drop = seed % 2 == 0};
      expect_same(expected, run_scenario(scenario, Carrier::kThreads, options));
    }
  }
}

TEST(ProcessEquivalence, ForkedProcessesLikeCoroutines) {
  for (std::uint64_t seed = 0; seed < 24; ++seed) {
    const Scenario scenario = random_scenario(seed, shape(seed, 6, 60));
    const Outcome expected = run_scenario(scenario, Carrier::kCoroutines);
    for (const std::uint32_t concurrency : {1U, 2U, 8U}) {
      SCOPED_TRACE(::testing::Message() << "seed " << seed << ", concurrency " << concurrency);
      const CarrierOptions options{.concurrency = concurrency,
                                   .disturb = seed % 3 == 0 ? 0 : seed * 8 + concurrency,
                                   .pin = seed % 2 == 0,
                                   .may_drop = seed % 2 == 0};
      expect_same(expected, run_scenario(scenario, Carrier::kProcesses, options));
    }
  }
}

TEST(ProcessEquivalence, DeadlocksAreToldAlike) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    SCOPED_TRACE(seed);
    const Scenario scenario = random_scenario(seed, {.processes = 5, .length = 40, .deadlocks = true});
    const Outcome expected = run_scenario(scenario, Carrier::kCoroutines);
    EXPECT_THAT(expected.error, ::testing::HasSubstr("deadlock at "));
    EXPECT_THAT(expected.error, ::testing::HasSubstr("waits: receive from anybody, tag -1"));
    const CarrierOptions options{.concurrency = 2, .disturb = seed + 1};
    expect_same(expected, run_scenario(scenario, Carrier::kThreads, options));
    expect_same(expected, run_scenario(scenario, Carrier::kProcesses, options));
  }
}

Scenario two_processes(const std::vector<Call>& first, const std::vector<Call>& second) {
  Scenario scenario;
  for (const std::vector<Call>* calls : {&first, &second}) {
    Scenario::Process& process = scenario.processes.emplace_back();
    for (const Call& call : *calls) process.actions.push_back({Duration{1000}, Action::kCall, call});
  }
  return scenario;
}

TEST(ProcessEquivalence, TheCycleOfADeadlockIsNamed) {
  const Scenario scenario = two_processes({{kReceive, {1, 5}}}, {{kReceive, {0, 6}}});
  for (const Carrier carrier : kCarriers) {
    EXPECT_EQ(run_scenario(scenario, carrier).error,
              "deadlock at 1ns: nothing left to happen and 2 still waiting\n"
              "  rank 0 waits: receive from rank 1, tag 5\n"
              "  rank 1 waits: receive from rank 0, tag 6\n"
              "  cycle: rank 0 -> rank 1 -> rank 0");
  }
}

TEST(ProcessEquivalence, MessagesThatTakeNoTimeAreALivelock) {
  std::vector<Call> first;
  std::vector<Call> second;
  for (int i = 0; i < 1000; ++i) {
    first.insert(first.end(), {{kSend, {1, 0}}, {kReceive, {1, 0}}});
    second.insert(second.end(), {{kReceive, {0, 0}}, {kSend, {0, 0}}});
  }
  Scenario scenario = two_processes(first, second);
  for (Scenario::Process& process : scenario.processes) {
    for (Action& action : process.actions) action.compute = Duration::zero();
  }
  for (const Carrier carrier : kCarriers) {
    const Outcome outcome = run_scenario(scenario, carrier, {.concurrency = 2, .rounds_per_instant = 500});
    EXPECT_THAT(outcome.error, ::testing::StartsWith("livelock at 0ps: 500 rounds without the clock moving"));
    EXPECT_EQ(outcome.digest,
              run_scenario(scenario, Carrier::kCoroutines, {.rounds_per_instant = 500}).digest);
  }
}

}  // namespace
}  // namespace orrery::engine::testing
