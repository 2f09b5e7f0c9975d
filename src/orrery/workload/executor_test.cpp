// SPDX-License-Identifier: Apache-2.0
// Goal: workloads run in the order, on the streams and with the partners they name, and failures say who waits.
// Method: small workloads with times that can be added up by hand.
#include "orrery/workload/executor.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/workload/testing/replayed.hpp"

namespace orrery::workload {
namespace {

using namespace std::chrono_literals;
using collectives::Operation;
using test::collective;
using test::compute;
using test::receive;
using test::replay;
using test::Replayed;
using test::send;
using testing::AllOf;
using testing::HasSubstr;

/// Path: 1 ms; 1 MB takes 1 ms.
constexpr const char* kStar = "star:hosts=4,bandwidth=1GBps,latency=500us";

std::string failure(const Workload& workload, const test::Options& options = {}) {
  try {
    static_cast<void>(replay(workload, options));
  } catch (const SimulationError& error) {
    return error.what();
  }
  return "no failure";
}

TEST(Executor, AChainTakesTheSumAndBranchesShareTheStream) {
  const Replayed chain = replay(stored_workload("w", {{compute(1, 2ms), compute(2, 3ms, {1})}}));
  EXPECT_EQ(chain.total, Time{5ms});
  EXPECT_EQ(chain.ranks[0].compute, Duration{5ms});
  const Workload branches = stored_workload("w", {{compute(1, 2ms), compute(2, 3ms)}});
  EXPECT_EQ(replay(branches).total, Time{5ms});
  EXPECT_EQ(replay(branches, {.streams = {.compute = 2}}).total, Time{3ms});
}

TEST(Executor, HostAndDeviceRunSideBySide) {
  Op host = compute(1, 2ms);
  host.on_cpu = true;
  const Replayed both = replay(stored_workload("w", {{host, compute(2, 3ms)}}));
  EXPECT_EQ(both.total, Time{3ms});
  EXPECT_EQ(both.ranks[0].compute, Duration{3ms});
}

TEST(Executor, ReadyOperationsStartInAscendingIdWhateverTheirOrderInTheFile) {
  const Replayed run = replay(stored_workload("w", {{compute(9, 1ms), compute(3, 1ms), compute(5, 1ms)}}));
  ASSERT_EQ(run.order.size(), 3U);
  EXPECT_EQ(run.order[0], 3U);
  EXPECT_EQ(run.order[1], 5U);
  EXPECT_EQ(run.order[2], 9U);
}

TEST(Executor, ControlAndDataDependenciesBothCount) {
  Op last = compute(3, 1ms, {1});
  last.control_deps = {2};
  const Workload workload = stored_workload("w", {{compute(1, 1ms), compute(2, 4ms), last}});
  EXPECT_EQ(replay(workload, {.streams = {.compute = 0}}).total, Time{5ms});
}

TEST(Executor, AMessageOverlapsWithComputing) {
  const Workload workload = stored_workload("w", {{send(1, 1, Bytes{1'000'000}), compute(2, 5ms)},
                                                  {receive(1, 0, Bytes{1'000'000}), compute(2, 1ms, {1})}});
  const Replayed run = replay(workload, {.cluster = kStar});
  EXPECT_EQ(run.ranks[0].finish, Time{5ms});
  EXPECT_EQ(run.ranks[0].overlap, Duration{2ms});
  EXPECT_EQ(run.ranks[0].exposed_communication, Duration{});
  EXPECT_EQ(run.ranks[1].finish, Time{3ms});
  EXPECT_EQ(run.ranks[1].exposed_communication, Duration{2ms});
}

TEST(Executor, ALargeMessageWaitsForItsReceiveASmallOneDoesNot) {
  const Workload workload = stored_workload(
      "w", {{send(1, 1, Bytes{1'000'000})}, {compute(1, 10ms), receive(2, 0, Bytes{1'000'000}, 0, {1})}});
  const Replayed rendezvous = replay(workload, {.cluster = kStar});
  EXPECT_EQ(rendezvous.ranks[0].finish, Time{12ms});
  EXPECT_EQ(rendezvous.ranks[0].waiting, Duration{10ms});
  EXPECT_EQ(rendezvous.ranks[1].finish, Time{12ms});
  const Replayed eager = replay(workload, {.cluster = kStar, .eager_limit = Bytes{1'000'000}});
  EXPECT_EQ(eager.ranks[0].finish, Time{2ms});
  EXPECT_EQ(eager.ranks[1].finish, Time{10ms});
  EXPECT_EQ(eager.ranks[1].communication, Duration{});
}

TEST(Executor, MessagesAreMatchedByTagAndThenByOrder) {
  const Workload workload =
      stored_workload("w", {{send(1, 1, Bytes{1'000'000}, 7), send(2, 1, Bytes{2'000'000}, 8, {1}),
                             send(3, 1, Bytes{3'000'000}, 7, {2})},
                            {receive(4, 0, Bytes{2'000'000}, 8), receive(5, 0, Bytes{1'000'000}, 7),
                             receive(6, 0, Bytes{3'000'000}, 7)}});
  EXPECT_EQ(replay(workload, {.cluster = kStar}).total, Time{2ms + 3ms + 4ms});
}

TEST(Executor, ReceivingBeforeSendingOnBothSidesIsNoDeadlock) {
  const auto rank = [](Rank peer) {
    return std::vector<Op>{receive(1, peer, Bytes{1'000'000}), send(2, peer, Bytes{1'000'000})};
  };
  EXPECT_EQ(replay(stored_workload("w", {rank(1), rank(0)}), {.cluster = kStar}).total, Time{2ms});
}

TEST(Executor, CollectivesOfARankFollowEachOtherUnlessItHasMoreStreams) {
  const std::vector<Op> rank{collective(1, Operation::kBarrier), collective(2, Operation::kBarrier)};
  const Workload workload = stored_workload("w", {rank, rank, rank, rank});
  const Replayed one = replay(workload, {.cluster = kStar, .algorithm = "dissemination"});
  const Replayed two =
      replay(workload, {.cluster = kStar, .streams = {.communication = 2}, .algorithm = "dissemination"});
  EXPECT_EQ(one.total, Time{4ms});  // Two steps each.
  EXPECT_EQ(two.total, Time{2ms});
}

TEST(Executor, GroupsRunIndependentlyAndAreMatchedByOrder) {
  const auto in = [](std::uint64_t id, const char* group, Bytes size) {
    Op op = collective(id, Operation::kAllReduce, size);
    op.group = group;
    return op;
  };
  const std::vector<Op> low{in(1, "low", Bytes{8}), in(2, "low", Bytes{16})};
  const std::vector<Op> high{in(1, "high", Bytes{64})};
  const Workload workload = stored_workload("w", {low, low, high, high}, {{"low", {0, 1}}, {"high", {2, 3}}});
  const Replayed run = replay(workload, {.cluster = kStar, .algorithm = "ring"});
  ASSERT_EQ(run.collectives.size(), 3U);
  EXPECT_EQ(run.ranks[0].finish, Time{4ms + 24ns});  // Two steps of half the buffer each.
  EXPECT_EQ(run.ranks[2].finish, Time{2ms + 64ns});
}

TEST(Executor, EveryOperationRunsWithItsSizesAsTheTraceCountsThem) {
  for (const Operation operation : {Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter,
                                    Operation::kAllToAll, Operation::kBroadcast, Operation::kReduce,
                                    Operation::kGather, Operation::kScatter, Operation::kBarrier}) {
    std::vector<std::vector<Op>> ranks(4);
    for (std::vector<Op>& rank : ranks) {
      rank.push_back(collective(1, operation, Bytes{4'000'000}));
      rank.back().root = 2;
    }
    const Replayed run = replay(stored_workload("w", ranks), {.cluster = kStar});
    ASSERT_EQ(run.collectives.size(), 1U);
    const bool is_gather = operation == Operation::kAllGather || operation == Operation::kGather;
    const Bytes size{operation == Operation::kBarrier ? 0 : is_gather ? 16'000'000 : 4'000'000};
    EXPECT_EQ(run.collectives[0].size, size) << collectives::to_text(operation);
    EXPECT_GT(run.total, Time{});
  }
}

TEST(Executor, UnevenSizesArePerMember) {
  std::vector<std::vector<Op>> ranks(2);
  for (Rank rank = 0; rank < 2; ++rank) {
    Op op = collective(1, Operation::kAllToAll, Bytes{0});
    op.sizes = rank == 0 ? std::vector<Bytes>{Bytes{0}, Bytes{3'000'000}} : std::vector<Bytes>(2, Bytes{0});
    ranks[rank].push_back(op);
  }
  const Replayed run = replay(stored_workload("w", ranks), {.cluster = kStar, .algorithm = "direct"});
  EXPECT_EQ(run.total, Time{4ms});
}

TEST(Executor, TheWindowDoesNotChangeAProgramInOrder) {
  std::vector<std::vector<Op>> ranks(4);
  for (Rank rank = 0; rank < 4; ++rank) {
    for (std::uint64_t id = 1; id <= 60; ++id) {
      Op op = id % 5 == 0 ? collective(id, Operation::kAllReduce, Bytes{1000})
                          : compute(id, Duration{1ms} * (1 + (id + rank) % 3));
      if (id > 1) op.data_deps = {id - 1};
      ranks[rank].push_back(op);
    }
  }
  const Workload workload = stored_workload("w", ranks);
  const Replayed unbounded = replay(workload, {.cluster = kStar, .window = 1000});
  for (const std::size_t window : {1U, 2U, 7U}) {
    const Replayed run = replay(workload, {.cluster = kStar, .window = window});
    EXPECT_EQ(run.total, unbounded.total);
    EXPECT_EQ(run.digest, unbounded.digest) << window;
  }
}

TEST(Executor, TheWindowGrowsWhenNothingInItCanRun) {
  // Dependencies on what stands later, and a message whose send stands behind what waits for the answer.
  std::vector<Op> backwards;
  for (std::uint64_t id = 40; id >= 1; --id) {
    backwards.push_back(
        compute(id, 1ms, id > 1 ? std::vector<std::uint64_t>{id - 1} : std::vector<std::uint64_t>{}));
  }
  EXPECT_EQ(replay(stored_workload("w", {backwards}), {.window = 1}).total, Time{40ms});
  const Workload answer = stored_workload(
      "w", {{receive(1, 1, Bytes{8}), compute(2, 1ms, {1}), compute(3, 1ms, {1}), send(4, 1, Bytes{8})},
            {receive(1, 0, Bytes{8}), send(2, 0, Bytes{8}, 0, {1})}});
  const Replayed narrow = replay(answer, {.cluster = kStar, .window = 1});
  EXPECT_EQ(narrow.ranks[0].operations, 4U);
}

TEST(Executor, ACycleIsNamedNodeByNode) {
  const Workload workload = stored_workload(
      "w", {{compute(1, 1ms), compute(2, 1ms, {4}), compute(3, 1ms, {2}), compute(4, 1ms, {3})}});
  EXPECT_THAT(failure(workload), AllOf(HasSubstr("rank 0"), HasSubstr("cycle"), HasSubstr("node 2 'compute'"),
                                       HasSubstr("node 3"), HasSubstr("node 4")));
  EXPECT_THAT(failure(workload, {.window = 1}), HasSubstr("cycle"));
  EXPECT_THAT(failure(stored_workload("w", {{compute(5, 1ms, {5})}})),
              HasSubstr("node 5 'compute' -> node 5"));
}

TEST(Executor, AMissingDependencyIsNamed) {
  const Workload workload = stored_workload("w", {{compute(1, 1ms, {99})}});
  EXPECT_THAT(failure(workload), HasSubstr("rank 0: node 1 'compute' depends on node 99"));
}

TEST(Executor, AnIdThatStandsTwiceIsRefused) {
  EXPECT_THROW(static_cast<void>(replay(stored_workload("w", {{compute(1, 1ms), compute(1, 1ms)}}))),
               InputError);
  EXPECT_THROW(static_cast<void>(
                   replay(stored_workload("w", {{compute(1, 1ms), compute(1, 1ms, {1})}}), {.window = 1})),
               InputError);
}

TEST(Executor, WhoWaitsForWhomIsNamed) {
  EXPECT_THAT(failure(stored_workload("w", {{receive(1, 1, Bytes{8}, 5)}, {compute(1, 1ms)}})),
              AllOf(HasSubstr("rank 0 waits: node 1 'receive': receive of 8B from rank 1, tag 5"),
                    HasSubstr("nobody sends it")));
  EXPECT_THAT(failure(stored_workload("w", {{send(1, 1, Bytes{8})}, {}})),
              AllOf(HasSubstr("nobody receives it"), HasSubstr("hint")));
  EXPECT_THAT(failure(stored_workload("w", {{send(1, 7, Bytes{8})}, {}})), HasSubstr("no such rank"));
  EXPECT_THAT(
      failure(stored_workload("w", {{collective(1, Operation::kAllReduce, Bytes{8})}, {compute(1, 1ms)}})),
      AllOf(HasSubstr("all_reduce of 8B in the group of all ranks"), HasSubstr("rank 1 did not call it")));
  const auto crossed = [](Rank first, Rank second) {
    return std::vector<Op>{receive(1, first, Bytes{8}), send(2, second, Bytes{8}, 0, {1})};
  };
  EXPECT_THAT(failure(stored_workload("w", {crossed(1, 1), crossed(0, 0)})),
              HasSubstr("cycle: rank 0 -> rank 1 -> rank 0"));
}

TEST(Executor, DisagreementsAreNamed) {
  const auto pair = [](const Op& a, const Op& b) { return failure(stored_workload("w", {{a}, {b}})); };
  EXPECT_THAT(
      pair(collective(1, Operation::kAllReduce, Bytes{8}), collective(4, Operation::kAllReduce, Bytes{16})),
      AllOf(HasSubstr("collective #1 of the group of all ranks: the ranks disagree on the size"),
            HasSubstr("rank 0: node 1 'collective'"), HasSubstr("rank 1: node 4 'collective'")));
  EXPECT_THAT(
      pair(collective(1, Operation::kAllReduce, Bytes{8}), collective(1, Operation::kAllGather, Bytes{8})),
      HasSubstr("disagree on the operation"));
  Op other = collective(1, Operation::kBroadcast, Bytes{8});
  other.root = 1;
  EXPECT_THAT(pair(collective(1, Operation::kBroadcast, Bytes{8}), other), HasSubstr("disagree on the root"));
  EXPECT_THAT(pair(send(1, 1, Bytes{8}), receive(1, 0, Bytes{16})), HasSubstr("disagree on the size"));
  Op stranger = collective(1, Operation::kAllReduce, Bytes{8});
  stranger.group = "g";
  EXPECT_THAT(failure(stored_workload("w", {{}, {stranger}}, {{"g", {0}}})), HasSubstr("not in group 'g'"));
  stranger.group = "h";
  EXPECT_THROW(static_cast<void>(replay(stored_workload("w", {{stranger}}, {{"g", {0}}}))), InputError);
}

TEST(Executor, AbsurdSizesAreRefused) {
  for (const Operation operation : {Operation::kAllGather, Operation::kAllToAll}) {
    const Op op = collective(1, operation, Bytes{std::int64_t{1} << 61});
    EXPECT_THAT(failure(stored_workload("w", {{op}, {op}})), HasSubstr("such sizes are not simulated"));
  }
}

TEST(Executor, ComputeTimesComeFromWhereTheyAreAskedFor) {
  Op op = compute(1, 1ms);
  op.flops = 2'000'000'000;
  op.tensor = Bytes{1'000};
  const Workload workload = stored_workload("w", {{op}});
  const char* const cluster = "star:hosts=1,bandwidth=1GBps,latency=1us";
  EXPECT_EQ(replay(workload, {.cluster = cluster, .compute = "fixed:7ms"}).total, Time{7ms});
  EXPECT_THROW(static_cast<void>(replay(workload, {.cluster = cluster, .compute = "roofline"})), InputError);
  EXPECT_EQ(replay(workload, {.cluster = "hgx-h100", .compute = "roofline"}).total,
            Time{} + ceil_to_duration(2e9 / 989.4e12 * 1e12));
  Op unknown = compute(1, Duration{});
  const Workload nothing = stored_workload("w", {{unknown}});
  EXPECT_THROW(static_cast<void>(replay(nothing)), InputError);
  EXPECT_EQ(replay(nothing, {.compute = "recorded:1ns"}).total, Time{1ns});
  EXPECT_THROW(static_cast<void>(ComputeTime::parse("recordet", "--compute")), InputError);
}

TEST(Executor, RemoteMemoryNeedsADeviceThatHasSome) {
  Op load;
  load.id = 1;
  load.kind = OpKind::kLoad;
  load.tensor = Bytes{1'000'000};
  EXPECT_THROW(static_cast<void>(replay(stored_workload("w", {{load}}))), InputError);
}

}  // namespace
}  // namespace orrery::workload
