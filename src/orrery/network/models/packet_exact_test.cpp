// SPDX-License-Identifier: Apache-2.0
// Goal: the fast ways of computing give what the plain one gives, to the picosecond, and nothing is lost on the way.
// Method: storms of random messages with link changes, each run by the rule under test and by its plain form.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <map>

#include "orrery/base/rng.hpp"
#include "orrery/network/test_network.hpp"

namespace orrery::network {
namespace {

struct Storm {
  std::string cluster;
  std::size_t hosts = 0;
  int messages = 0;
  std::int64_t spread = 0;  ///< Messages start within so many picoseconds.
  std::int64_t most = 0;    ///< Bytes of a message.
  bool has_changes = false;
};

struct Outcome {
  std::vector<Time> arrivals;
  std::vector<LinkCounters> counters;
  std::uint64_t executed = 0;
};

Outcome run(const std::string& model, const Storm& storm, std::uint64_t seed) {
  Rng rng{seed, "storm"};
  TestNetwork net{model, storm.cluster};
  std::vector<StreamId> streams;
  for (int i = 0; i < 8; ++i) streams.push_back(net.model().open_stream());
  std::map<std::size_t, std::pair<std::size_t, std::size_t>> pair_of_stream;
  const auto any_host = [&] {
    return static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(storm.hosts) - 1));
  };
  std::vector<std::size_t> sent;
  for (int i = 0; i < storm.messages; ++i) {
    std::size_t source = any_host();
    std::size_t target = any_host();
    if (source == target) target = (source + 1) % storm.hosts;
    StreamId stream = kNoStream;
    if (i % 3 == 0) {
      const auto number = static_cast<std::size_t>(rng.between(0, 7));
      const auto& pair = pair_of_stream.try_emplace(number, source, target).first->second;
      std::tie(source, target) = pair;
      stream = streams[number];
    }
    const Time at = Time{} + Duration{rng.between(0, storm.spread)};
    sent.push_back(net.send(at, source, target, Bytes{i % 9 == 0 ? 0 : rng.between(1, storm.most)}, stream));
  }
  const std::size_t links = net.cluster().graph.link_count();
  for (int i = 0; storm.has_changes && i < 12; ++i) {
    const topology::LinkId link{
        static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(links) - 1))};
    const std::int64_t at = rng.between(0, storm.spread);
    const Duration latency{rng.between(0, 2'000'000)};
    net.change(Time{} + Duration{at}, link,
               {Bandwidth::bits_per_second(rng.between(10, 200) * 1'000'000'000), latency, i % 4 != 0});
    net.change(Time{} + Duration{at + rng.between(1, storm.spread)}, link,
               {Bandwidth::bits_per_second(100'000'000'000), latency, true});
  }
  net.run();
  Outcome outcome;
  for (const std::size_t message : sent) outcome.arrivals.push_back(net.arrived(message));
  outcome.counters = net.model().link_counters();
  outcome.executed = net.engine().executed();
  return outcome;
}

const std::vector<Storm> kStorms = {
    {"star:hosts=8,bandwidth=100Gbps,latency=500ns", 8, 60, 40'000'000, 300'000},
    {"star:hosts=32,bandwidth=100Gbps,latency=500ns", 32, 120, 400'000'000, 300'000},
    {"ring:hosts=8,bandwidth=100Gbps,latency=0ns", 8, 60, 40'000'000, 100'000},
    {"fattree:k=4,levels=3,bandwidth=100Gbps,latency=300ns", 16, 100, 100'000'000, 200'000},
    {"star:hosts=8,bandwidth=100Gbps,latency=500ns", 8, 60, 40'000'000, 300'000, true},
    {"fattree:k=4,levels=3,bandwidth=100Gbps,latency=300ns", 16, 60, 100'000'000, 200'000, true},
    {"fattree:k=4,levels=2,bandwidth=73Gbps,latency=1us", 8, 20, 2'000'000'000, 5'000'000},
};

void expect_equal(const Outcome& fast, const Outcome& plain, const std::string& what) {
  EXPECT_EQ(fast.arrivals, plain.arrivals) << what;
  for (std::size_t link = 0; link < plain.counters.size(); ++link) {
    EXPECT_EQ(fast.counters[link].bytes, plain.counters[link].bytes) << what << " link " << link;
    EXPECT_EQ(fast.counters[link].packets, plain.counters[link].packets) << what << " link " << link;
    EXPECT_EQ(fast.counters[link].longest_queue, plain.counters[link].longest_queue)
        << what << " link " << link;
    EXPECT_EQ(fast.counters[link].drops, plain.counters[link].drops) << what << " link " << link;
    EXPECT_EQ(fast.counters[link].marks, plain.counters[link].marks) << what << " link " << link;
  }
}

class PacketRules : public testing::TestWithParam<const char*> {};

TEST_P(PacketRules, TrainsChangeNothing) {
  const std::string model = std::string{"packet:mtu=4096B"} + GetParam();
  bool is_faster = false;
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    for (const Storm& storm : kStorms) {
      if (storm.has_changes && model.find("loss") != std::string::npos) continue;
      const std::string what = fmt::format("{} on {}, seed {}", model, storm.cluster, seed);
      const Outcome fast = run(model, storm, seed);
      const Outcome plain = run(model + ",trains=false", storm, seed);
      expect_equal(fast, plain, what);
      is_faster = is_faster || fast.executed != plain.executed;
    }
  }
  EXPECT_TRUE(is_faster) << "no train was ever broken";
}

TEST_P(PacketRules, EveryMessageArrivesOnceWithAllItsBytes) {
  const std::string model = std::string{"packet:mtu=1000B,header=48B"} + GetParam();
  for (const Storm& storm : kStorms) {
    if (storm.has_changes) continue;
    const Outcome outcome = run(model, storm, 7);
    for (const Time arrival : outcome.arrivals) EXPECT_NE(arrival, kTimeMax) << model;
  }
}

INSTANTIATE_TEST_SUITE_P(
    Settings, PacketRules,
    testing::Values("", ",forwarding=cut_through", ",control=window", ",control=window,window=16KiB",
                    ",control=dcqcn,ecn_min=20KiB,ecn_max=80KiB,cnp_interval=5us,rate_timer=5us",
                    ",control=credit", ",routing=spray", ",overhead=700ns", ",loss=drop,buffer=40KiB",
                    ",loss=drop,buffer=40KiB,control=window",
                    ",loss=drop,buffer=40KiB,recovery=go_back_n,timeout=100us",
                    ",loss=drop,buffer=40KiB,control=credit"));

TEST(PacketExact, PortsThatAreNeverHeldBackAreAsFast) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    for (const Storm& storm : kStorms) {
      // In a ring hosts pass packets on, and turns depend on what waits where.
      if (storm.has_changes || storm.cluster.starts_with("ring")) continue;
      const Outcome plain = run("packet:trains=false", storm, seed);
      for (const char* held :
           {"packet:trains=false,loss=pfc,pause_at=1GB,resume_at=1GB",
            "packet:trains=false,loss=credit,buffer=1GB", "packet:loss=pfc,pause_at=1GB,resume_at=1GB",
            "packet:loss=credit,buffer=1GB"}) {
        EXPECT_EQ(run(held, storm, seed).arrivals, plain.arrivals) << held << " on " << storm.cluster;
      }
    }
  }
}

TEST(PacketExact, SpacesInBuffersAreKept) {
  const Storm& storm = kStorms[3];
  for (const char* model :
       {"packet:loss=pfc,pause_at=40KiB,resume_at=20KiB", "packet:loss=credit,buffer=40KiB"}) {
    const Outcome outcome = run(model, storm, 3);
    for (const Time arrival : outcome.arrivals) EXPECT_NE(arrival, kTimeMax) << model;
  }
}

}  // namespace
}  // namespace orrery::network
