// SPDX-License-Identifier: Apache-2.0
// Goal: times that follow from arithmetic, for every network model. Small start skew must not grow, a shared port
// is shared, and how a program waits (blocking or by callback) does not change when things happen.
#include <algorithm>
#include <optional>
#include <utility>

#include "laws/laws.hpp"
#include "orrery/app/collective.hpp"
#include "orrery/app/network_choice.hpp"
#include "orrery/app/simulation.hpp"
#include "orrery/collectives/algorithm.hpp"
#include "orrery/collectives/run/collective_run.hpp"
#include "orrery/engine/task.hpp"
#include "orrery/network/test_network.hpp"

namespace orrery {
namespace {

using collectives::CollectiveRun;
using collectives::Rank;

const std::string kStar = "star:hosts=16,bandwidth=1GBps,latency=500us";

/// Models that by their definition do not share links.
bool shares_links(const std::string& network) {
  return network != "alpha_beta" && network != "astra_unaware";
}

class TimingLaws : public testing::TestWithParam<std::string> {};

TEST_P(TimingLaws, TwentySkewedRingAllGathersTakeSixTenthsOfASecond) {
  app::CollectiveOptions options;
  options.operation = "all_gather";
  options.cluster = kStar;
  options.network = GetParam();
  options.algorithm = "ring";
  options.size = "16MB";  // 1 MB of each rank: 15 steps of 1 ms latency and 1 ms transfer.
  options.iterations = 20;
  options.skew = "1us";
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    options.seed = seed;
    const double seconds = static_cast<double>(app::collective(options).rows.at(0).total_time_ps) * 1e-12;
    EXPECT_NEAR(seconds, 0.60, 0.006) << "seed " << seed;
  }
}

TEST_P(TimingLaws, FourIntoOnePortTakeFourTimesAsLong) {
  network::TestNetwork net{GetParam(), kStar};
  std::vector<std::size_t> messages;
  for (std::size_t source = 1; source <= 4; ++source) {
    messages.push_back(net.send(Time{}, source, 0, Bytes{1'000'000}));
  }
  net.run();
  Time last{};
  for (const std::size_t message : messages) last = std::max(last, net.arrived(message));
  const double milliseconds = static_cast<double>(count_ps(last)) * 1e-9;
  EXPECT_NEAR(milliseconds, shares_links(GetParam()) ? 5.0 : 2.0, 0.05);
}

/// A rank's program in the blocking form: call, wait, call the next.
class Blocking final : CollectiveRun::Listener {
 public:
  Blocking(app::Simulation& simulation, const collectives::Schedule& schedule,
           const collectives::Layout& layout, int times)
      : waiting_(schedule.ranks()) {
    for (int i = 0; i < times; ++i) {
      CollectiveRun::Listener* const listener = this;
      runs_.push_back(std::make_unique<CollectiveRun>(CollectiveRun::Setup{simulation.engine(),
                                                                           simulation.network(),
                                                                           simulation.router(),
                                                                           schedule,
                                                                           layout,
                                                                           simulation.cluster().ranks,
                                                                           {collectives::EndpointCosts{}},
                                                                           "all_gather"},
                                                      listener));
    }
  }
  engine::Task<> program(Rank rank) {
    for (const std::unique_ptr<CollectiveRun>& run : runs_) {
      run->arrive(rank);
      co_await Wait{*this, *run, rank};
    }
  }
  [[nodiscard]] Time finish() const { return runs_.back()->finish(); }

 private:
  struct Wait {
    Blocking& owner;
    const CollectiveRun& run;
    Rank rank;
    [[nodiscard]] bool await_ready() const noexcept { return run.is_done(rank); }
    template <class Promise>
    void await_suspend(std::coroutine_handle<Promise> handle) {
      owner.waiting_[rank] = engine::Suspended{handle};
    }
    void await_resume() const noexcept {}
  };
  void on_rank_done(Rank rank) override {
    if (waiting_[rank]) std::exchange(waiting_[rank], std::nullopt)->resume();
  }
  std::vector<std::unique_ptr<CollectiveRun>> runs_;
  std::vector<std::optional<engine::Suspended>> waiting_;
};

TEST_P(TimingLaws, BlockingAndCallbackFormsTakeTheSameTime) {
  const topology::Cluster cluster = topology::load_cluster(kStar);
  topology::Router router{cluster.graph};
  const app::NetworkChoice network =
      app::choose_network(GetParam(), network::builtin_networks(), "--network");
  app::Simulation simulation{{.cluster = cluster, .router = router, .network = network}};
  const collectives::AlgorithmRegistry algorithms = collectives::builtin_algorithms();
  collectives::PlanRequest request;
  request.operation = collectives::Operation::kAllGather;
  request.ranks = 16;
  const auto schedule = algorithms.get("ring").plan(request);
  const collectives::Layout layout = collectives::Layout::even(Bytes{16'000'000}, schedule->chunk_count());
  Blocking blocking{simulation, *schedule, layout, 5};
  std::vector<engine::Task<>> programs;
  for (Rank rank = 0; rank < 16; ++rank) programs.push_back(blocking.program(rank));
  for (engine::Task<>& program : programs) program.start();
  simulation.engine().run();

  app::CollectiveOptions options;
  options.operation = "all_gather";
  options.cluster = kStar;
  options.network = GetParam();
  options.algorithm = "ring";
  options.size = "16MB";
  options.iterations = 5;
  EXPECT_EQ(count_ps(blocking.finish()), app::collective(options).rows.at(0).total_time_ps);
}

INSTANTIATE_TEST_SUITE_P(Builtin, TimingLaws, testing::ValuesIn(laws::networks()), laws::test_name);

}  // namespace
}  // namespace orrery
