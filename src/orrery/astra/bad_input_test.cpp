// SPDX-License-Identifier: Apache-2.0
// Goal: where ASTRA-sim crashes, hangs or stops without a word, the run says what is wrong or gives the right result.
// Method: every such input that was tried on it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.hpp"
#include "orrery/testing/astra_case.hpp"

namespace orrery::astra::test {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::HasSubstr;

template <class Error>
std::string failure(const Case& from) {
  try {
    static_cast<void>(run(from));
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

std::string input_failure(const Case& from) { return failure<InputError>(from); }
std::string run_failure(const Case& from) { return failure<SimulationError>(from); }

TEST(AstraBadInput, FilesThatAreNotThere) {
  Warnings warnings;
  EXPECT_THROW(static_cast<void>(read_system("/nowhere/system.json", 1, warnings)), InputError);
  EXPECT_THROW(static_cast<void>(read_network("/nowhere/network.yml", warnings)), InputError);
  EXPECT_THROW(static_cast<void>(read_memory("/nowhere/memory.json", warnings)), InputError);
  EXPECT_THROW(static_cast<void>(read_groups("/nowhere/groups.json", 8)), InputError);
}

TEST(AstraBadInput, NetworkFile) {
  EXPECT_THAT(input_failure({.topology = "Ring, ["}), HasSubstr("network.yml:"));
  EXPECT_THAT(input_failure({.topology = "Rings"}), AllOf(HasSubstr("'Rings'"), HasSubstr("Ring")));
  EXPECT_THAT(input_failure({.topology = ""}), HasSubstr("topology"));
  EXPECT_THAT(input_failure({.npus = "eight"}), AllOf(HasSubstr("npus_count"), HasSubstr("eight")));
  EXPECT_THAT(input_failure({.npus = "4, 2"}), HasSubstr("one per entry of topology"));
  EXPECT_THAT(input_failure({.npus = "1"}), HasSubstr("npus_count"));
  EXPECT_THAT(input_failure({.bandwidth = "0"}), HasSubstr("bandwidth"));
  EXPECT_THAT(input_failure({.latency = "-1"}), HasSubstr("latency"));
  EXPECT_THAT(input_failure({.npus = "2", .is_aware = true}), HasSubstr("a ring of 2 NPUs"));
  EXPECT_THAT(input_failure({.topology = "Ring, Ring",
                             .npus = "4, 2",
                             .bandwidth = "50, 50",
                             .latency = "1, 1",
                             .is_aware = true}),
              HasSubstr("one dimension"));
}

TEST(AstraBadInput, SystemFile) {
  EXPECT_THAT(input_failure({.system = ", {"}), HasSubstr("system.json:"));
  EXPECT_THAT(input_failure({.algorithms = "\"rinng\""}), AllOf(HasSubstr("'rinng'"), HasSubstr("ring")));
  EXPECT_THAT(input_failure({.algorithms = "\"direct0\""}), HasSubstr("direct0"));
  EXPECT_THAT(input_failure({.policy = "LILO"}), AllOf(HasSubstr("'LILO'"), HasSubstr("LIFO")));
  EXPECT_THAT(input_failure({.system = R"(, "preferred-dataset-split": 4)"}),
              HasSubstr("preferred-dataset-splits"));
  EXPECT_THAT(input_failure({.splits = 0}), HasSubstr("preferred-dataset-splits"));
  EXPECT_THAT(input_failure({.active = 0}), HasSubstr("active-chunks-per-dimension"));
  EXPECT_THAT(input_failure({.algorithms = "\"ring\", \"ring\""}), HasSubstr("1 dimensions, but"));
  EXPECT_THAT(run({.system = R"(, "boost-mode": 0, "flux": 1)"}).warnings,
              AllOf(Contains(HasSubstr("boost-mode")), Contains(HasSubstr("flux"))));
}

TEST(AstraBadInput, AlgorithmsThatNeedAPowerOfTwo) {
  EXPECT_THAT(input_failure({.npus = "6", .algorithms = "\"halvingDoubling\""}), HasSubstr("power of two"));
  EXPECT_THAT(input_failure({.npus = "6", .algorithms = "\"doubleBinaryTree\""}), HasSubstr("power of two"));
}

TEST(AstraBadInput, NumberOfTraces) {
  const auto with_traces = [](std::uint32_t traces) {
    Inputs inputs;
    inputs.system.splits = 4;
    inputs.system.choices[0] = {Choice{}};
    inputs.network.dims = {
        {.shape = Shape::kRing, .size = 4, .bandwidth = 53.687, .latency = 500, .gigabytes = 50}};
    inputs.workload = workload::stored_workload(
        "few", std::vector<std::vector<Op>>(traces, std::vector<Op>{all_reduce(1 << 20)}));
    return simulate(inputs);
  };
  EXPECT_THROW(static_cast<void>(with_traces(3)), InputError);
  EXPECT_THAT(with_traces(5).warnings, Contains(HasSubstr("left out")));
  EXPECT_EQ(with_traces(5).ranks.size(), 4U);
}

TEST(AstraBadInput, DependenciesThatCannotBeMet) {
  EXPECT_THAT(
      run_failure(
          {.ops = [](workload::Rank) { return std::vector{compute(1, 1, {2}), compute(2, 1, {1})}; }}),
      HasSubstr("1 after 2 after 1"));
  EXPECT_THAT(run_failure({.ops =
                               [](workload::Rank) {
                                 return std::vector{compute(1, 1), compute(2, 1, {3}), compute(3, 1, {2})};
                               }}),
              HasSubstr("wait on each other"));
  EXPECT_THAT(input_failure({.ops = [](workload::Rank) { return std::vector{compute(1, 1, {9})}; }}),
              HasSubstr("node 1 depends on node 9"));
  EXPECT_THAT(
      input_failure({.ops = [](workload::Rank) { return std::vector{compute(1, 1), compute(1, 2)}; }}),
      HasSubstr("two nodes have the id 1"));
}

TEST(AstraBadInput, RanksThatNeverFinish) {
  const auto without_one = [](workload::Rank rank) {
    return rank == 3 ? std::vector{compute(1, 1)} : std::vector{all_reduce(1 << 20)};
  };
  EXPECT_THAT(run_failure({.ops = without_one}), AllOf(HasSubstr("rank 4 waits"), HasSubstr("from rank 3")));
  const auto mismatch = [](workload::Rank rank) {
    if (rank == 0) return std::vector{message(1, OpKind::kSend, 1, 100)};
    if (rank == 1) return std::vector{message(1, OpKind::kReceive, 0, 200)};
    return std::vector{compute(1, 1)};
  };
  EXPECT_THAT(run_failure({.ops = mismatch}),
              AllOf(HasSubstr("receive of 200 bytes from rank 0"), HasSubstr("a message of 100 bytes")));
}

TEST(AstraBadInput, GroupsThatShiftTheNumbersOfChunks) {
  const auto shifted = [](workload::Rank rank) {
    Op op = all_reduce(1 << 20, 1);
    op.group = "1";
    const Op after = collective(2, collectives::Operation::kAllReduce, 1 << 20, {1});
    return rank < 2 ? std::vector{op, after} : std::vector{all_reduce(1 << 20, 2)};
  };
  EXPECT_THAT(run_failure({.groups = R"({"1": [0, 1]})", .ops = shifted}),
              HasSubstr("rank 0 has begun 8 chunks and rank 2 4"));
}

TEST(AstraBadInput, AMessageToItself) {
  const auto to_itself = [](workload::Rank rank) {
    return std::vector{message(1, OpKind::kSend, rank, 100)};
  };
  EXPECT_THAT(input_failure({.ops = to_itself}), HasSubstr("to itself"));
}

TEST(AstraBadInput, SizesThatNeverEnd) {
  const auto tiny = [](workload::Rank) {
    return std::vector{collective(1, collectives::Operation::kAllGather, 2)};
  };
  EXPECT_THAT(run_failure({.ops = tiny}), HasSubstr("fewer bytes than preferred-dataset-splits"));
  const auto empty = [](workload::Rank rank) {
    return rank == 0 ? std::vector{message(1, OpKind::kSend, 1, 0)} : std::vector<Op>{};
  };
  EXPECT_THAT(input_failure({.ops = empty}), HasSubstr("0 bytes"));
  EXPECT_THAT(run_failure({.npus = "8",
                           .algorithms = "\"halvingDoubling\"",
                           .ops = [](workload::Rank) { return std::vector{all_reduce(1)}; }}),
              HasSubstr("0 bytes"));
}

TEST(AstraBadInput, Groups) {
  EXPECT_THAT(input_failure({.groups = R"({"0": [0, 1]})"}),
              HasSubstr("0 is ASTRA-sim's name for all ranks"));
  EXPECT_THAT(input_failure({.groups = R"({"1": [0, 8]})"}), HasSubstr("8"));
  EXPECT_THAT(input_failure({.groups = R"({"1": [0, 0]})"}), HasSubstr("already"));
  const auto in_group = [](workload::Rank) {
    Op op = all_reduce(1 << 20);
    op.group = "2";
    return std::vector{op};
  };
  EXPECT_THAT(input_failure({.groups = R"({"1": [0, 1]})", .ops = in_group}),
              HasSubstr("no communicator group '2'"));
  EXPECT_THAT(input_failure({.groups = R"({"2": [0, 1]})", .ops = in_group}), HasSubstr("not in group 2"));
}

TEST(AstraBadInput, OperationsItDoesNotSimulate) {
  const auto with = [](collectives::Operation operation) {
    return Case{.ops = [operation](workload::Rank) { return std::vector{collective(1, operation, 100)}; }};
  };
  EXPECT_THAT(input_failure(with(collectives::Operation::kReduce)), HasSubstr("does not simulate reduce"));
  EXPECT_THAT(input_failure(with(collectives::Operation::kBarrier)), HasSubstr("does not simulate barrier"));
  EXPECT_EQ(cycles(with(collectives::Operation::kBroadcast)), 1U);
}

TEST(AstraRightResult, CpuOperationsAndStatistics) {
  const auto on_cpu = [](workload::Rank) {
    Op op = compute(1, 5);
    op.on_cpu = true;
    return std::vector{op, compute(2, 3)};
  };
  const Outcome outcome = run({.ops = on_cpu});
  EXPECT_EQ(outcome.ranks[0].cycles, 5000U);
  EXPECT_EQ(outcome.ranks[0].cpu_cycles, 5000U);
  EXPECT_EQ(outcome.ranks[0].gpu_cycles, 3000U);
  EXPECT_EQ(outcome.ranks[0].exposed_cycles, 2000U);
}

TEST(AstraRightResult, NodesThatDoNothingHoldNobodyUp) {
  const auto behind_nothing = [](workload::Rank) {
    Op nothing;
    nothing.id = 1;
    return std::vector{nothing, compute(2, 7, {1})};
  };
  EXPECT_EQ(cycles({.ops = behind_nothing}), 7000U);
}

TEST(AstraRightResult, NodesThatDoNothingFreeOthersOnlyWithTheNextEvent) {
  const auto behind_nothing = [](workload::Rank) {
    Op nothing;
    nothing.id = 1;
    return std::vector{nothing, compute(2, 7), all_reduce(1 << 20, 3), compute(4, 1, {1})};
  };
  const Outcome outcome = run({.ops = behind_nothing});
  EXPECT_EQ(outcome.cycles, 64440U);
  EXPECT_EQ(outcome.ranks[0].gpu_cycles, 8000U);
}

}  // namespace
}  // namespace orrery::astra::test
