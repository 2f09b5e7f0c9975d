// SPDX-License-Identifier: Apache-2.0
// Goal: times that follow from arithmetic, for packets alone, trains and incasts.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "orrery/network/test_network.hpp"

namespace orrery {
namespace {

using network::TestNetwork;

// 1000 bytes of payload and 48 of header at 100 Gbps: 83.84 ns a packet.
constexpr std::int64_t kFull = 83'840;
const std::string kRoce = "packet:mtu=1000B,header=48B";
const std::string kLine = "ring:hosts=12,bandwidth=100Gbps,latency=300ns";

Time at_ps(std::int64_t picoseconds) { return Time{Duration{picoseconds}}; }

/// From host 0 to host `hops` of a ring: so many links.
Time alone(const std::string& model, std::size_t hops, Bytes size, const std::string& cluster = kLine) {
  TestNetwork net{model, cluster};
  const std::size_t message = net.send(Time{}, 0, hops, size);
  net.run();
  return net.arrived(message);
}

/// The same with and without the fast path.
std::vector<std::string> both(const std::string& model) { return {model, model + ",trains=false"}; }

TEST(Packet, OnePacketIsStoredAndForwarded) {
  for (const std::string& model : both(kRoce)) {
    for (const std::size_t hops : {1U, 2U, 3U, 5U}) {
      const auto links = static_cast<std::int64_t>(hops);
      EXPECT_EQ(alone(model, hops, Bytes{1000}), at_ps(links * (kFull + 300'000))) << model << hops;
      EXPECT_EQ(alone(model, hops, Bytes{1}), at_ps(links * (49 * 80 + 300'000))) << model << hops;
      EXPECT_EQ(alone(model, hops, Bytes{}), at_ps(links * (48 * 80 + 300'000))) << model << hops;
    }
  }
}

TEST(Packet, OnePacketIsCutThrough) {
  for (const std::string& model : both(kRoce + ",forwarding=cut_through")) {
    for (const std::size_t hops : {1U, 2U, 3U, 5U}) {
      const auto links = static_cast<std::int64_t>(hops);
      const std::int64_t expected = kFull + (links - 1) * 48 * 80 + links * 300'000;
      EXPECT_EQ(alone(model, hops, Bytes{1000}), at_ps(expected)) << model << hops;
    }
  }
}

TEST(Packet, ATrainFollowsItsFirstPacket) {
  for (const std::string& model : both(kRoce)) {
    for (const std::size_t hops : {1U, 2U, 3U, 5U}) {
      const auto links = static_cast<std::int64_t>(hops);
      // 200 full packets: the last one starts after 199 others, and then takes every link.
      EXPECT_EQ(alone(model, hops, Bytes{200'000}), at_ps(199 * kFull + links * (kFull + 300'000))) << model;
      // A last packet of 10 + 48 bytes waits behind the full one before it on every link.
      const std::int64_t last = 199 * kFull + links * (kFull + 300'000) + 58 * 80;
      EXPECT_EQ(alone(model, hops, Bytes{200'010}), at_ps(last)) << model;
    }
  }
}

TEST(Packet, ATrainIsAsFastAsItsSlowestLink) {
  // Two links: 100 then 25 Gbps; the second takes 4 times as long, so it is never idle.
  for (const std::string& model : both(kRoce)) {
    TestNetwork net{model, "star:hosts=2,bandwidth=100Gbps,latency=300ns"};
    for (const topology::Graph::Edge& edge : net.cluster().graph.edges()) {
      const bool is_last = edge.a == net.cluster().ranks[1] || edge.b == net.cluster().ranks[1];
      if (!is_last) continue;
      for (const topology::LinkId link : {edge.forward, edge.backward}) {
        net.change(Time{}, link,
                   {Bandwidth::bits_per_second(25'000'000'000), std::chrono::nanoseconds{300}, true});
      }
    }
    const std::size_t message = net.send(Time{} + Duration{1}, 0, 1, Bytes{50'000});
    net.run();
    EXPECT_EQ(net.arrived(message), at_ps(1 + kFull + 300'000 + 50 * 4 * kFull + 300'000)) << model;
  }
}

TEST(Packet, AnIncastIsServedAtTheSpeedOfItsPort) {
  for (const std::string& model : both(kRoce)) {
    for (const std::size_t senders : {2U, 3U, 7U, 15U}) {
      TestNetwork net{model, "star:hosts=16,bandwidth=100Gbps,latency=300ns"};
      std::vector<std::size_t> messages;
      for (std::size_t i = 1; i <= senders; ++i) messages.push_back(net.send(Time{}, i, 0, Bytes{100'000}));
      net.run();
      Time last{};
      for (const std::size_t message : messages) last = std::max(last, net.arrived(message));
      // The first packets take their link; then the port is never idle.
      const auto packets = static_cast<std::int64_t>(senders) * 100;
      EXPECT_EQ(last, at_ps(kFull + 300'000 + packets * kFull + 300'000)) << model << senders;
    }
  }
}

TEST(Packet, AHostsMessagesTakeTurns) {
  TestNetwork net{kRoce, "star:hosts=4,bandwidth=100Gbps,latency=300ns"};
  const std::size_t shorter = net.send(Time{}, 0, 1, Bytes{10'000});
  const std::size_t longer = net.send(Time{}, 0, 2, Bytes{50'000});
  net.run();
  // Packets 0, 2, .. 18 are the shorter one's; 1, 3, .. 19 and then all the rest the longer one's.
  EXPECT_EQ(net.arrived(shorter), at_ps(19 * kFull + 300'000 + kFull + 300'000));
  EXPECT_EQ(net.arrived(longer), at_ps(60 * kFull + 300'000 + kFull + 300'000));
}

}  // namespace
}  // namespace orrery
