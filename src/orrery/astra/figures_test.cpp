// SPDX-License-Identifier: Apache-2.0
// Goal: cycles that ASTRA-sim itself was seen to give, for each part of its system layer. Method: the configurations of
// those runs, written anew; every one is also run unfolded.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.hpp"
#include "orrery/testing/astra_case.hpp"

namespace orrery::astra::test {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

std::uint64_t both_ways(Case from) {
  const Outcome folded = run(from);
  from.may_fold = false;
  const Outcome whole = run(from);
  EXPECT_EQ(folded.ranks, whole.ranks);
  EXPECT_EQ(folded.digest, whole.digest);
  EXPECT_EQ(whole.simulated, whole.ranks.size());
  return folded.cycles;
}

TEST(AstraFigures, RingAllReduceOfTheRegressionTest) {
  EXPECT_EQ(both_ways({.memory_bandwidth = 50}), 117780U);
}

TEST(AstraFigures, FourActiveChunksShareALinkOrNot) {
  EXPECT_EQ(both_ways({.active = 4}), 16110U);
  EXPECT_EQ(both_ways({.active = 4, .is_aware = true}), 34680U);
  EXPECT_THAT(run({.active = 4}).warnings, Contains(HasSubstr("shares nothing")));
}

TEST(AstraFigures, IndependentCollectivesRunOneAfterTheOther) {
  const auto two = [](workload::Rank) { return std::vector{all_reduce(1 << 20, 1), all_reduce(1 << 20, 2)}; };
  EXPECT_EQ(both_ways({.ops = two}), 128880U);
}

TEST(AstraFigures, RendezvousAddsAHandshakePerMessage) {
  EXPECT_EQ(both_ways({.is_rendezvous = true}), 100952U);
}

TEST(AstraFigures, TwoDimensions) {
  const Case both{.topology = "Ring, Ring",
                  .npus = "4, 2",
                  .bandwidth = "50, 50",
                  .latency = "500, 500",
                  .algorithms = "\"ring\", \"ring\""};
  EXPECT_EQ(both_ways(both), 43040U);
  Case first = both;
  first.algorithms = "\"ring\"";
  EXPECT_EQ(both_ways(first), 43000U);
  EXPECT_THAT(run(first).warnings, Contains(HasSubstr("leaves the outer dimensions out")));
}

TEST(AstraFigures, OnlyTheInnermostDifferingDimensionIsCharged) {
  for (const char* outer : {"50", "0.5"}) {
    const bool is_slow = outer[0] == '0';
    Case flat{.topology = "Ring, Switch",
              .npus = "8, 8",
              .bandwidth = fmt::format("200, {}", outer),
              .latency = is_slow ? "50, 50000" : "50, 500",
              .algorithms = "\"oneRing\""};
    EXPECT_EQ(both_ways(flat), 41368U);
    EXPECT_THAT(run(flat).warnings, Contains(HasSubstr("only the innermost")));
    flat.ops = [](workload::Rank) { return std::vector{all_reduce(1 << 30)}; };
    EXPECT_EQ(both_ways(flat), 11855380U);
    flat.ops = Case{}.ops;
    flat.algorithms = "\"ring\", \"ring\"";
    EXPECT_EQ(both_ways(flat), is_slow ? 6031400U : 64432U);
  }
}

TEST(AstraFigures, AGroupReducesTwiceAndKnowsItsOwnEndpointDelay) {
  const auto in_group = [](workload::Rank rank) {
    Op op = all_reduce(1 << 20);
    op.group = "1";
    return rank < 4 ? std::vector{op} : std::vector{compute(1, 1)};
  };
  const Outcome outcome = run({.topology = "FullyConnected",
                               .algorithms = "\"direct\"",
                               .groups = R"({"1": [0, 1, 2, 3]})",
                               .ops = in_group});
  EXPECT_EQ(outcome.ranks[0].cycles, 14840U);
  EXPECT_EQ(outcome.ranks[7].cycles, 1000U);
}

TEST(AstraFigures, RemoteMemoryServesOneAtATime) {
  const auto load = [](workload::Rank) {
    Op op;
    op.id = 1;
    op.kind = OpKind::kLoad;
    op.tensor = Bytes{1 << 20};
    return std::vector{op};
  };
  const auto finish = [&](const std::string& kind) {
    const Outcome outcome =
        run({.memory = fmt::format(R"({{"memory-type": "{}", "remote-mem-latency": 100, "remote-mem-bw": 50,
"num-nodes": 2, "num-npus-per-node": 4}})",
                                   kind),
             .ops = load});
    std::vector<std::uint64_t> cycles;
    for (const RankTimes& rank : outcome.ranks) cycles.push_back(rank.cycles / 21071);
    EXPECT_EQ(outcome.ranks[0].cycles, 21071U);
    EXPECT_EQ(outcome.ranks[0].memory_cycles, 21071U);
    return cycles;
  };
  EXPECT_THAT(finish("MEMORY_POOL"), ElementsAre(1, 2, 3, 4, 5, 6, 7, 8));
  EXPECT_THAT(finish("PER_NODE_MEMORY_EXPANSION"), ElementsAre(1, 2, 3, 4, 1, 2, 3, 4));
  EXPECT_THAT(finish("PER_NPU_MEMORY_EXPANSION"), ElementsAre(1, 1, 1, 1, 1, 1, 1, 1));
}

TEST(AstraFigures, OneMessageOverEachNetwork) {
  const auto one = [](workload::Rank rank) {
    if (rank == 1) return std::vector{message(1, OpKind::kSend, 4, 1 << 20)};
    if (rank == 4) return std::vector{message(1, OpKind::kReceive, 1, 1 << 20)};
    return std::vector<Op>{};
  };
  const auto time = [&](const char* topology, bool is_aware) {
    const Outcome outcome = run({.topology = topology, .npus = "16", .is_aware = is_aware, .ops = one});
    EXPECT_EQ(outcome.ranks[1].cycles, outcome.ranks[4].cycles);
    EXPECT_EQ(outcome.ranks[2].cycles, 0U);
    return outcome.cycles;
  };
  EXPECT_EQ(time("Ring", true), 60093U);
  EXPECT_EQ(time("FullyConnected", true), 20031U);
  EXPECT_EQ(time("Switch", true), 40062U);
  EXPECT_EQ(time("Ring", false), 21031U);
  EXPECT_EQ(time("Switch", false), 20531U);
}

TEST(AstraFigures, EverybodySendsToEverybodyOverARing) {
  // At once, as the nodes of a custom collective are. The busiest link carries 1 + ... + 7 messages of shorter ways and
  // 8 that go half around, one after the other.
  const auto all = [](const std::string&) {
    std::vector<std::vector<Op>> ranks(16);
    for (workload::Rank rank = 0; rank < 16; ++rank) {
      for (workload::Rank step = 1; step < 16; ++step) {
        ranks[rank].push_back(message(step, OpKind::kSend, (rank + step) % 16, 1 << 20));
        ranks[rank].push_back(message(100 + step, OpKind::kReceive, (rank + 16 - step) % 16, 1 << 20));
      }
    }
    return workload::stored_workload("all", std::move(ranks));
  };
  const Case custom{.npus = "16",
                    .system = R"(, "all-reduce-implementation-custom": ["all"])",
                    .splits = 1,
                    .is_aware = true,
                    .open_custom = all};
  EXPECT_EQ(both_ways(custom), 704116U);
}

TEST(AstraFigures, RooflineTakesTheLowerRoof) {
  const auto matrix = [](workload::Rank) {
    Op op = compute(1, 0);
    op.flops = 1'000'000'000'000;
    op.tensor = Bytes{1 << 20};
    Op thin = compute(2, 0, {1});
    thin.flops = 1'000'000;
    thin.tensor = Bytes{1 << 30};
    return std::vector{op, thin};
  };
  const Outcome outcome = run({.system = R"(, "roofline-enabled": 1, "peak-perf": 900)", .ops = matrix});
  EXPECT_EQ(outcome.cycles, 1782199U);
  EXPECT_EQ(outcome.cycles, 1111111U + 671088U);  // 1e12 / 900e12 s, then 2^30 / 1600e9 s.
  EXPECT_EQ(outcome.ranks[0].exposed_cycles, 0U);
}

TEST(AstraFigures, ComputeHidesCommunication) {
  const auto overlapped = [](workload::Rank) { return std::vector{compute(1, 50), all_reduce(1 << 20, 2)}; };
  const Outcome outcome = run({.ops = overlapped});
  EXPECT_EQ(outcome.ranks[0].cycles, 64440U);
  EXPECT_EQ(outcome.ranks[0].exposed_cycles, 14440U);
  EXPECT_EQ(outcome.ranks[0].overlap_cycles, 50000U);
  EXPECT_EQ(outcome.ranks[0].gpu_cycles, 50000U);
  EXPECT_EQ(outcome.ranks[0].communication_cycles, 64440U);
}

TEST(AstraFigures, SharedBus) {
  const auto on_bus = [](collectives::Operation operation, std::int64_t size, int chunks) {
    return Case{
        .topology = "FullyConnected",
        .bandwidth = "400",
        .latency = "10",
        .system =
            R"(, "model-shared-bus": 1, "L": 100, "o": 3, "g": 50, "G": 0.01, "local-reduction-delay": 1)",
        .splits = chunks,
        .active = chunks,
        .memory_bandwidth = 7.3,
        .is_aware = true,
        .ops = [=](workload::Rank) { return std::vector{collective(1, operation, size)}; }};
  };
  EXPECT_EQ(both_ways(on_bus(collectives::Operation::kAllReduce, 1 << 20, 2)), 235393U);
  EXPECT_EQ(both_ways(on_bus(collectives::Operation::kAllGather, 99000, 4)), 17816U);
  EXPECT_EQ(both_ways(on_bus(collectives::Operation::kReduceScatter, 65536, 3)), 29425U);
}

TEST(AstraFigures, CustomCollective) {
  // Each rank sends to the next, reduces for 2 us what comes, and sends again.
  const auto relay = [](const std::string&) {
    std::vector<std::vector<Op>> ranks;
    for (workload::Rank rank = 0; rank < 4; ++rank) {
      std::vector<Op> ops{message(1, OpKind::kSend, (rank + 1) % 4, 65536),
                          message(2, OpKind::kReceive, (rank + 3) % 4, 65536), compute(3, 2, {2}),
                          message(4, OpKind::kSend, (rank + 1) % 4, 65536, 1),
                          message(5, OpKind::kReceive, (rank + 3) % 4, 65536, 1)};
      ops[3].data_deps = {3};
      ranks.push_back(std::move(ops));
    }
    return workload::stored_workload("relay", std::move(ranks));
  };
  Case custom{.npus = "4",
              .system = R"(, "all-reduce-implementation-custom": ["relay"])",
              .splits = 1,
              .open_custom = relay};
  constexpr std::uint64_t kFlight = 500 + 1220;  // 65536 bytes at 50 x 2^30 B/s take 1220.7 ns.
  EXPECT_EQ(both_ways(custom), 2 * kFlight + 2000);
  custom.splits = 4;
  EXPECT_THROW(static_cast<void>(run(custom)), SimulationError);
}

TEST(AstraFigures, OneRankStandsForAll) {
  const Outcome outcome = run({.npus = "64", .is_aware = true});
  EXPECT_EQ(outcome.simulated, 1U);
  EXPECT_EQ(outcome.ranks.size(), 64U);
  EXPECT_EQ(run({.npus = "64", .is_aware = true, .may_fold = false}).digest, outcome.digest);
}

TEST(AstraFigures, AnOrderThatDependsOnTheRankEndsTheFolding) {
  // Every rank sends to all others over a ring: messages from several sources want one link at one time.
  const Case crowded{.algorithms = "\"direct\"", .is_aware = true};
  const Outcome outcome = run(crowded);
  EXPECT_EQ(outcome.simulated, 8U);
  EXPECT_THAT(outcome.unfolded, HasSubstr("depends on who a rank is"));
  EXPECT_EQ(both_ways(crowded), outcome.cycles);
}

}  // namespace
}  // namespace orrery::astra::test
