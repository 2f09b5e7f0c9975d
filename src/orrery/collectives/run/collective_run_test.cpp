// SPDX-License-Identifier: Apache-2.0
// Goal: schedules driven over networks take the time their closed forms say, with skew, costs and failures.
#include "orrery/collectives/run/collective_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/rng.hpp"
#include "orrery/collectives/algorithm.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::collectives {
namespace {

using namespace std::chrono_literals;

constexpr const char* kStar = "star:hosts=16,bandwidth=1GBps,latency=500us";  // 1 ms, 1 MB per ms.

/// One cluster, one network, any number of collectives one after another on it.
class Bench final : engine::Handler {
 public:
  explicit Bench(const std::string& cluster, const std::string& model = "flow")
      : cluster_{topology::load_cluster(cluster)},
        router_{cluster_.graph},
        context_{engine_, router_, cluster_.jitter, 1},
        origin_{engine_.add_origin("test")} {
    std::string name;
    const config::Document settings = config::Document::from_line(model, "--network", name);
    const network::NetworkRegistry registry = network::builtin_networks();
    network_ = registry.get(name, "--network").prepare(config::Cursor{settings})(context_);
  }

  CollectiveRun& add(const PlanRequest& request, const std::string& algorithm, Bytes total,
                     EndpointCosts costs = {}, std::optional<Duration> notice = {}) {
    schedules_.push_back(registry_.get(algorithm).plan(request));
    layouts_.push_back(std::make_unique<Layout>(Layout::even(total, schedules_.back()->chunk_count())));
    std::vector<topology::NodeId> nodes(cluster_.ranks.begin(), cluster_.ranks.begin() + request.ranks);
    CollectiveRun::Setup setup{
        engine_, *network_, router_, *schedules_.back(), *layouts_.back(), nodes, {costs}, algorithm};
    setup.notice = notice;
    setup.connections = connections_.get();
    runs_.push_back(std::make_unique<CollectiveRun>(std::move(setup)));
    return *runs_.back();
  }
  /// Rank `rank` calls the latest collective at `at`.
  void arrive_at(Time at, Rank rank) {
    engine_.schedule(at, engine::Phase::kWake, origin_, *this, ((runs_.size() - 1) << 32) | rank);
  }
  /// All ranks of the latest begin at `at`; they called it earlier.
  void let_in_at(Time at, std::vector<Time> called) {
    called_ = std::move(called);
    arrive_at(at, kAll);
  }
  void run() { engine_.run(); }
  /// Of all runs from then on.
  void keep_connections() { connections_ = std::make_unique<Connections>(); }
  engine::Engine& engine() { return engine_; }

 private:
  static constexpr Rank kAll = ~Rank{0};
  void on_event(std::uint64_t payload) override {
    CollectiveRun& run = *runs_[payload >> 32];
    const auto rank = static_cast<Rank>(payload);
    if (rank != kAll) return run.arrive(rank);
    for (Rank one = 0; one < called_.size(); ++one) run.arrive(one, {}, called_[one]);
  }
  topology::Cluster cluster_;
  engine::Engine engine_;
  topology::Router router_;
  network::NetworkContext context_;
  engine::OriginId origin_;
  std::unique_ptr<network::NetworkModel> network_;
  const AlgorithmRegistry registry_ = builtin_algorithms();
  std::vector<std::unique_ptr<Schedule>> schedules_;
  std::vector<std::unique_ptr<Layout>> layouts_;
  std::vector<std::unique_ptr<CollectiveRun>> runs_;
  std::vector<Time> called_;
  std::unique_ptr<Connections> connections_;
};

TEST(CollectiveRun, RingAllReduceMeetsItsClosedForm) {
  for (const char* network : {"flow", "alpha_beta"}) {
    Bench bench{kStar, network};
    CollectiveRun& run =
        bench.add({.operation = Operation::kAllReduce, .ranks = 16}, "ring", Bytes{16'000'000});
    for (Rank rank = 0; rank < 16; ++rank) run.arrive(rank);
    bench.run();
    EXPECT_EQ(run.finish(), Time{30 * 2ms}) << network;
    EXPECT_EQ(run.messages(), 16U * 30);
    EXPECT_EQ(run.wire_bytes(), Bytes{16 * 30 * 1'000'000LL});
  }
}

TEST(CollectiveRun, SkewedRingsDoNotDriftApart) {
  // 20 all-gathers of 16 ranks, 1 MB per rank, each rank starting each one up to 1 us late: 20 x 15 x 2 ms.
  Bench bench{kStar};
  Rng rng{5, "skew"};
  Time start{};
  for (int round = 0; round < 20; ++round) {
    CollectiveRun& run =
        bench.add({.operation = Operation::kAllGather, .ranks = 16}, "ring", Bytes{16'000'000});
    for (Rank rank = 0; rank < 16; ++rank) bench.arrive_at(start + Duration{rng.between(0, 1'000'000)}, rank);
    bench.run();
    start = run.finish();
  }
  EXPECT_NEAR(static_cast<double>(count_ps(start)) * 1e-12, 0.60, 0.006);
}

TEST(CollectiveRun, ARankThatComesLateHoldsUpTheOthers) {
  Bench bench{kStar};
  CollectiveRun& run =
      bench.add({.operation = Operation::kBroadcast, .ranks = 4, .root = 2}, "flat", Bytes{1'000'000});
  for (const Rank rank : {0U, 1U, 3U}) run.arrive(rank);
  bench.arrive_at(Time{10ms}, 2);
  bench.run();
  EXPECT_EQ(run.done(0), Time{14ms});  // Three copies share the root's port.
}

TEST(CollectiveRun, EndpointCostsAdd) {
  Bench bench{kStar};
  const EndpointCosts costs{.launch = 3ms,
                            .send_overhead = 2ms,
                            .receive_overhead = 1ms,
                            .reduce_bandwidth = Bandwidth::bytes_per_second(500'000'000),
                            .wire_scale = 2.0};
  CollectiveRun& run =
      bench.add({.operation = Operation::kReduce, .ranks = 2, .root = 0}, "flat", Bytes{1'000'000}, costs);
  run.arrive(0);
  run.arrive(1);
  bench.run();
  // Launch, pause, latency, 2 MB on the wire, receive overhead, 1 MB added at 0.5 GB/s.
  EXPECT_EQ(run.done(0), Time{3ms + 2ms + 1ms + 2ms + 1ms + 2ms});
}

TEST(CollectiveRun, ASenderHasDoneWithWhatFindsRoomInItsBuffer) {
  // 1 MB takes a millisecond of latency and one on the wire, in pieces of a 32nd of the room.
  for (const auto& [room, done] : {std::pair{1'000'000, 0us}, std::pair{640'000, 1360us}, std::pair{320'000, 1680us}}) {
    Bench bench{kStar};
    const EndpointCosts costs{.send_buffer = Bytes{room}};
    CollectiveRun& run =
        bench.add({.operation = Operation::kBroadcast, .ranks = 2, .root = 0}, "flat", Bytes{1'000'000}, costs);
    run.arrive(0);
    run.arrive(1);
    bench.run();
    EXPECT_EQ(run.messages(), 1U);
    EXPECT_NEAR(static_cast<double>(count_ps(run.done(0))), static_cast<double>(done.count()) * 1e6, 21e6);
    EXPECT_EQ(run.done(1), Time{2ms});
  }
}

TEST(CollectiveRun, ABufferIsEmptiedAsMessagesArrive) {
  // A chain of two pieces, the second sent when the first has arrived after 2 ms, or half a millisecond before.
  for (const auto& [pause, done] : {std::pair{2500us, 5000us}, std::pair{1500us, 3500us}}) {
    Bench bench{kStar};
    const EndpointCosts costs{.send_overhead = pause, .send_buffer = Bytes{1'000'000}};
    const PlanRequest request{.operation = Operation::kBroadcast, .ranks = 2, .root = 0, .pieces = 2};
    CollectiveRun& run = bench.add(request, "chain", Bytes{2'000'000}, costs);
    run.arrive(0);
    run.arrive(1);
    bench.run();
    EXPECT_EQ(run.done(0), Time{done});
    EXPECT_EQ(run.done(1), Time{2 * pause + 2ms});
  }
}

TEST(SendBuffer, BelongsToAConnection) {
  SendBuffer buffer;
  constexpr Bytes kRoom{100};
  const auto is_done = [&](Bytes size, Rank rank) {
    buffer.send(size, true);
    return buffer.has_done(kRoom, {nullptr, rank});
  };
  EXPECT_TRUE(is_done(Bytes{60}, 0));
  EXPECT_FALSE(is_done(Bytes{50}, 1)) << "no room beside the first";
  EXPECT_FALSE(is_done(Bytes{0}, 2)) << "nor behind one that has none";
  EXPECT_FALSE(buffer.next_done());
  EXPECT_TRUE(buffer.arrive());
  EXPECT_EQ(buffer.next_done()->rank, 1U);
  EXPECT_EQ(buffer.next_done()->rank, 2U);
  EXPECT_FALSE(buffer.next_done());
  EXPECT_TRUE(is_done(Bytes{50}, 3));
}

TEST(SendBuffer, TellsWhenTheRestOfAMessageFindsRoom) {
  SendBuffer buffer;
  for (const bool is_last : {false, false, true}) buffer.send(Bytes{50}, is_last);
  EXPECT_FALSE(buffer.has_done(Bytes{100}, {nullptr, 7}));
  EXPECT_FALSE(buffer.arrive());
  EXPECT_EQ(buffer.next_done()->rank, 7U);
  EXPECT_FALSE(buffer.arrive());
  EXPECT_TRUE(buffer.arrive());
}

TEST(CollectiveRun, RunsShareTheBufferOfTheirConnection) {
  Bench bench{kStar};
  bench.keep_connections();
  const EndpointCosts costs{.send_buffer = Bytes{1'500'000}};
  std::vector<CollectiveRun*> runs;
  for (int i = 0; i < 2; ++i) {
    runs.push_back(
        &bench.add({.operation = Operation::kBroadcast, .ranks = 2, .root = 0}, "flat", Bytes{1'000'000}, costs));
    for (Rank rank = 0; rank < 2; ++rank) runs.back()->arrive(rank);
  }
  bench.run();
  EXPECT_EQ(runs[0]->done(0), Time{});
  EXPECT_NEAR(static_cast<double>(count_ps(runs[1]->done(0))), 1.5e9, 0.05e9) << "half a megabyte has to arrive first";
}

TEST(CollectiveRun, WhoHasWithdrawnSendsNothing) {
  Bench bench{kStar};
  CollectiveRun& run = bench.add({.operation = Operation::kBroadcast, .ranks = 2, .root = 0}, "flat",
                                 Bytes{1'000'000}, {}, Duration::max());
  run.arrive(0);
  run.withdraw(0);
  run.arrive(1);
  EXPECT_THROW(bench.run(), SimulationError);
  EXPECT_FALSE(run.is_done(1));
  EXPECT_EQ(run.messages(), 0U);
}

TEST(CollectiveRun, WhereItIsAskedForNothingMovesBeforeItsReceiverIsThere) {
  for (const bool is_asked : {false, true}) {
    Bench bench{kStar};
    const std::optional<Duration> notice = is_asked ? std::optional{Duration::max()} : std::nullopt;
    CollectiveRun& run =
        bench.add({.operation = Operation::kReduce, .ranks = 2, .root = 0}, "flat", Bytes{1'000'000}, {}, notice);
    run.arrive(1);
    bench.arrive_at(Time{10ms}, 0);
    bench.run();
    EXPECT_EQ(run.done(0), Time{is_asked ? 12ms : 10ms});
    EXPECT_EQ(run.done(1), Time{is_asked ? 12ms : 2ms});
  }
}

/// 1 GB/s and 1 ms to each other: when one of two ranks comes so much later, how long does it take from then on?
Duration exchange(Operation operation, const std::string& algorithm, std::uint32_t pieces, Duration later,
                  EndpointCosts costs = {}, Rank late = 1) {
  Bench bench{kStar};
  const PlanRequest request{.operation = operation, .ranks = 2, .pieces = pieces, .window = pieces};
  CollectiveRun& run = bench.add(request, algorithm, Bytes{8'000'000}, costs, 1ms);
  run.arrive(1 - late);
  bench.arrive_at(Time{later}, late);
  bench.run();
  return run.finish() - Time{later};
}

TEST(CollectiveRun, WhoComesLateSendsFirst) {
  // Each sends 2 of its 4 MB, in both directions at once when they come together.
  EXPECT_EQ(exchange(Operation::kAllToAll, "direct", 1, 0ms), Duration{1ms + 2ms});
  EXPECT_EQ(exchange(Operation::kAllToAll, "direct", 1, 2ms), Duration{1ms + 2ms});
  EXPECT_EQ(exchange(Operation::kAllToAll, "direct", 1, 3ms), Duration{1ms + 2ms + 1ms + 2ms});
  // 4 MB each, in two halves: the early one's first half goes beside the late one's second.
  EXPECT_EQ(exchange(Operation::kAllGather, "ring", 2, 0ms), Duration{1ms + 4ms});
  EXPECT_EQ(exchange(Operation::kAllGather, "ring", 2, 3ms), Duration{1ms + 2ms + 1ms + 2ms + 2ms});
}

TEST(CollectiveRun, WhoComesFirstIsDoneHalfWayWhenItsMessageIsBuffered) {
  Bench bench{kStar};
  const PlanRequest request{.operation = Operation::kAllToAll, .ranks = 2};
  CollectiveRun& run = bench.add(request, "direct", Bytes{8'000'000}, {.send_buffer = Bytes{8'000'000}}, 1ms);
  run.arrive(0);
  bench.arrive_at(Time{10ms}, 1);
  bench.run();
  const Duration first = run.done(0) - Time{10ms};
  const Duration last = run.done(1) - Time{10ms};
  EXPECT_GT(first, 0ms);
  EXPECT_EQ(last, 2 * first);
}

TEST(CollectiveRun, WhoIsLateDoesNotDependOnNumbersNorOverheads) {
  EndpointCosts costs;
  costs.send_overhead = 1ms;
  for (const Rank late : {0U, 1U}) {
    EXPECT_EQ(exchange(Operation::kAllToAll, "direct", 1, 3ms, {}, late), Duration{1ms + 2ms + 1ms + 2ms});
    EXPECT_EQ(exchange(Operation::kAllToAll, "direct", 1, 3ms, costs, late), Duration{1ms + 3ms + 3ms});
    EXPECT_EQ(exchange(Operation::kAllToAll, "direct", 1, 2ms, costs, late), Duration{1ms + 3ms});
    EXPECT_EQ(exchange(Operation::kAllGather, "ring", 2, 3ms, {}, late), Duration{1ms + 2ms + 1ms + 2ms + 2ms});
  }
}

/// Both begin when the last one calls, in whatever order they are let in; who called early has launched by then.
TEST(CollectiveRun, WhoWaitsForOthersGetsReadyMeanwhile) {
  for (const Rank late : {0U, 1U}) {
    Bench bench{kStar};
    EndpointCosts costs;
    costs.launch = 2ms;
    CollectiveRun& run =
        bench.add({.operation = Operation::kAllToAll, .ranks = 2}, "direct", Bytes{8'000'000}, costs, 1ms);
    std::vector<Time> called(2);
    called[late] = Time{5ms};
    bench.let_in_at(Time{5ms}, called);
    bench.run();
    EXPECT_EQ(run.finish(), Time{5ms + 2ms + 1ms + 2ms + 1ms + 2ms});
  }
}

TEST(CollectiveRun, AMissingRankIsNamed) {
  Bench bench{kStar};
  CollectiveRun& run = bench.add({.operation = Operation::kAllReduce, .ranks = 4}, "ring", Bytes{4000});
  for (const Rank rank : {0U, 1U, 2U}) run.arrive(rank);
  try {
    bench.run();
    FAIL() << "no deadlock";
  } catch (const SimulationError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("rank 0 waits: ring: receive 1000B from rank 3"));
    EXPECT_THAT(error.what(), testing::HasSubstr("rank 3 waits: never called ring"));
  }
}

}  // namespace
}  // namespace orrery::collectives
