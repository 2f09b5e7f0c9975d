// SPDX-License-Identifier: Apache-2.0
// Goal: laws of every network model, whatever its physics. Method: random messages on small clusters.
#include <fmt/format.h>

#include "laws/laws.hpp"
#include "orrery/network/test_network.hpp"

namespace orrery {
namespace {

using network::TestNetwork;

std::string star(int hosts, const char* bandwidth = "10Gbps", const char* latency = "1us") {
  return fmt::format("star:hosts={},bandwidth={},latency={}", hosts, bandwidth, latency);
}

/// When a message alone on the cluster arrives.
Time alone(const std::string& model, const std::string& cluster, Bytes size) {
  TestNetwork net{model, cluster};
  const std::size_t message = net.send(Time{}, 0, 1, size);
  net.run();
  return net.arrived(message);
}

class NetworkLaws : public testing::TestWithParam<std::string> {};

struct Storm {
  std::vector<Time> arrivals;
  std::vector<Time> sends;
  std::uint64_t digest = 0;
  std::int64_t payload = 0;
  std::vector<network::LinkCounters> counters;
};

/// Two hundred messages between random hosts at random times; every tenth stays on its host, some are empty.
Storm storm(const std::string& model, const std::string& cluster, std::size_t hosts, Rng rng) {
  TestNetwork net{model, cluster};
  Storm storm;
  std::vector<std::size_t> messages;
  const auto any_host = [&] {
    return static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(hosts) - 1));
  };
  for (int i = 0; i < 200; ++i) {
    const Time at = Time{} + Duration{rng.between(0, 50'000'000)};
    const std::size_t source = any_host();
    std::size_t target = i % 10 == 0 ? source : any_host();
    if (i % 10 != 0 && target == source) target = (source + 1) % hosts;
    const Bytes size{i % 7 == 0 ? 0 : rng.between(1, 1 << 18)};
    if (source != target) storm.payload += size.count();
    storm.sends.push_back(at);
    messages.push_back(net.send(at, source, target, size));
  }
  net.run();
  for (const std::size_t message : messages) storm.arrivals.push_back(net.arrived(message));
  storm.digest = net.engine().digest();
  storm.counters = net.model().link_counters();
  return storm;
}

TEST_P(NetworkLaws, EveryMessageArrivesOnceAndNotBeforeItLeft) {
  ORRERY_SEEDED(rng, "storm");
  for (const std::string& cluster : {star(6), std::string{"ring:hosts=6,bandwidth=10Gbps,latency=1us"},
                                     std::string{"fattree:k=4,levels=2,bandwidth=10Gbps,latency=1us"}}) {
    const Storm seen = storm(GetParam(), cluster, 6, rng);
    for (std::size_t i = 0; i < seen.arrivals.size(); ++i) {
      ASSERT_NE(seen.arrivals[i], kTimeMax) << cluster << ": message " << i << " never arrived";
      EXPECT_GE(seen.arrivals[i], seen.sends[i]) << cluster << ": message " << i;
    }
  }
}

TEST_P(NetworkLaws, TheSameRunTwiceIsTheSameRun) {
  ORRERY_SEEDED(rng, "storm");
  const Storm first = storm(GetParam(), star(6), 6, rng);
  const Storm second = storm(GetParam(), star(6), 6, rng);
  EXPECT_EQ(first.digest, second.digest);
  EXPECT_EQ(first.arrivals, second.arrivals);
}

TEST_P(NetworkLaws, BytesIntoTheSwitchComeOutOfIt) {
  ORRERY_SEEDED(rng, "storm");
  const Storm seen = storm(GetParam(), star(6), 6, rng);
  const topology::Cluster cluster = topology::load_cluster(star(6));
  std::int64_t in = 0;
  std::int64_t out = 0;
  for (const topology::Graph::Edge& edge : cluster.graph.edges()) {
    const bool is_host_first = cluster.graph.kind(edge.a) == topology::NodeKind::kDevice;
    in += seen.counters[(is_host_first ? edge.forward : edge.backward).index()].bytes.count();
    out += seen.counters[(is_host_first ? edge.backward : edge.forward).index()].bytes.count();
  }
  EXPECT_EQ(in, out);
  EXPECT_GE(in, seen.payload);  // A model may add headers.
  EXPECT_LE(in, seen.payload + seen.payload / 2);
}

TEST_P(NetworkLaws, AloneMoreBytesNeverArriveEarlier) {
  ORRERY_SEEDED(rng, "sizes");
  for (int round = 0; round < 100; ++round) {
    const Bytes smaller{rng.between(0, 1 << 20)};
    const Bytes larger = smaller + Bytes{rng.between(1, 1 << 20)};
    EXPECT_LE(alone(GetParam(), star(2), smaller), alone(GetParam(), star(2), larger)) << smaller.count();
  }
}

TEST_P(NetworkLaws, AloneMoreBandwidthNeverArrivesLater) {
  for (const std::int64_t size : {0, 1, 1000, 65'536, 10'000'000}) {
    Time last = kTimeMax;
    for (const char* bandwidth : {"10Mbps", "1Gbps", "1.1Gbps", "100Gbps", "3.2Tbps"}) {
      const Time arrival = alone(GetParam(), star(2, bandwidth), Bytes{size});
      EXPECT_LE(arrival, last) << size << " bytes at " << bandwidth;
      last = arrival;
    }
  }
}

TEST_P(NetworkLaws, AloneMoreLatencyNeverArrivesEarlier) {
  for (const std::int64_t size : {0, 1, 1000, 65'536, 10'000'000}) {
    Time last{};
    for (const char* latency : {"0ns", "1ns", "500ns", "1us", "20ms"}) {
      const Time arrival = alone(GetParam(), star(2, "10Gbps", latency), Bytes{size});
      EXPECT_GE(arrival, last) << size << " bytes, " << latency;
      last = arrival;
    }
  }
}

TEST_P(NetworkLaws, AloneAMessageIsNeverFasterThanItsPath) {
  for (const std::int64_t size : {0, 1, 1000, 65'536, 10'000'000}) {
    const Time arrival = alone(GetParam(), star(2), Bytes{size});
    const Duration ideal =
        std::chrono::microseconds{2} + Duration{size * 800};  // 2 links of 1 us; 0.8 ns a byte.
    EXPECT_GE(arrival, Time{} + ideal) << size;
    EXPECT_LE(arrival, Time{} + ideal + ideal / 2 + std::chrono::microseconds{5}) << size;
  }
}

TEST_P(NetworkLaws, StreamsArriveInOrder) {
  ORRERY_SEEDED(rng, "streams");
  TestNetwork net{GetParam(), star(4)};
  std::vector<std::vector<std::size_t>> streams(3);
  for (std::vector<std::size_t>& messages : streams) {
    const network::StreamId stream = net.model().open_stream();
    const auto target = static_cast<std::size_t>(rng.between(1, 3));
    Time at{};
    for (int i = 0; i < 40; ++i) {
      at += Duration{rng.between(0, 3'000'000)};
      messages.push_back(net.send(at, 0, target, Bytes{i % 5 == 0 ? 0 : rng.between(1, 100'000)}, stream));
    }
  }
  net.run();
  for (const std::vector<std::size_t>& messages : streams) {
    for (std::size_t i = 1; i < messages.size(); ++i) {
      EXPECT_LE(net.arrived(messages[i - 1]), net.arrived(messages[i]));
    }
  }
}

TEST_P(NetworkLaws, MessagesToOneselfAndEmptyOnes) {
  TestNetwork net{GetParam(), star(2)};
  const Time at = Time{} + std::chrono::microseconds{3};
  const std::size_t own = net.send(at, 1, 1, Bytes{1'000'000});
  const std::size_t own_empty = net.send(at, 1, 1, Bytes{});
  const std::size_t empty = net.send(at, 0, 1, Bytes{});
  net.run();
  EXPECT_EQ(net.arrived(own), at);
  EXPECT_EQ(net.arrived(own_empty), at);
  EXPECT_GE(net.arrived(empty), at + std::chrono::microseconds{2});
  EXPECT_NE(net.arrived(empty), kTimeMax);
}

INSTANTIATE_TEST_SUITE_P(Builtin, NetworkLaws, testing::ValuesIn(laws::networks_and_variants()),
                         laws::test_name);

}  // namespace
}  // namespace orrery
