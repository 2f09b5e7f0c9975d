// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "orrery/network/test_network.hpp"

namespace orrery::network {
namespace {

using namespace std::chrono_literals;

TEST(AlphaBeta, TwoHopsAndOneMegabyteAt400Gbps) {
  TestNetwork network{"alpha_beta", "star:hosts=4,bandwidth=400Gbps,latency=500ns"};
  const std::size_t message = network.send(Time{}, 0, 1, Bytes{1'000'000});
  network.run();
  EXPECT_EQ(network.arrived(message), Time{2 * 500ns + 20us});
}

TEST(AlphaBeta, MessagesDoNotShareUnlessTheyAreOneStream) {
  TestNetwork network{"alpha_beta:overhead=1us", "star:hosts=4,bandwidth=400Gbps,latency=500ns"};
  const StreamId stream = network.model().open_stream();
  const std::size_t a = network.send(Time{}, 0, 1, Bytes{1'000'000});
  const std::size_t b = network.send(Time{}, 0, 1, Bytes{1'000'000});
  const std::size_t c = network.send(Time{}, 0, 1, Bytes{1'000'000}, stream);
  const std::size_t d = network.send(Time{}, 0, 1, Bytes{1'000'000}, stream);
  network.run();
  EXPECT_EQ(network.arrived(a), Time{22us});
  EXPECT_EQ(network.arrived(b), Time{22us});
  EXPECT_EQ(network.arrived(c), Time{22us});
  EXPECT_EQ(network.arrived(d), Time{42us});
}

}  // namespace
}  // namespace orrery::network
