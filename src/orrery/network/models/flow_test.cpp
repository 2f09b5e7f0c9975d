// SPDX-License-Identifier: Apache-2.0
// Goal: the flow model against closed forms, and against itself by another way of computing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/rng.hpp"
#include "orrery/network/test_network.hpp"

namespace orrery::network {
namespace {

using namespace std::chrono_literals;

constexpr const char* kStar = "star:hosts=8,bandwidth=1GBps,latency=500us";  // Path: 1 ms, 1 MB takes 1 ms.

TEST(Flow, AloneItIsLatencyPlusSizeOverBandwidth) {
  TestNetwork network{"flow", kStar};
  const std::size_t message = network.send(Time{}, 0, 1, Bytes{1'000'000});
  network.run();
  EXPECT_EQ(network.arrived(message), Time{2ms});
  EXPECT_EQ(network.engine().executed(), 2U);  // The test's send and one end: nothing else was needed.
}

TEST(Flow, IncastSharesTheLastPort) {
  TestNetwork network{"flow", kStar};
  for (std::size_t i = 1; i <= 4; ++i) network.send(Time{}, i, 0, Bytes{1'000'000});
  network.run();
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(network.arrived(i), Time{5ms});
}

TEST(Flow, AnExpressTransferThatMeetsAnotherSharesFromThen) {
  TestNetwork network{"flow", kStar};
  const std::size_t first = network.send(Time{}, 0, 1, Bytes{2'000'000});      // Streams from 1 ms.
  const std::size_t second = network.send(Time{1ms}, 2, 1, Bytes{1'000'000});  // Streams from 2 ms.
  network.run();
  EXPECT_EQ(network.arrived(second), Time{4ms});  // 1 MB at half speed.
  EXPECT_EQ(network.arrived(first), Time{4ms});   // 1 MB alone, then 1 MB at half speed.
}

TEST(Flow, ACompanionThatStartsFirstDemotesAnExpressStillInItsLatency) {
  TestNetwork network{"flow", "star:hosts=3,bandwidth=1GBps,latency=500us"};
  const std::size_t slow = network.send(Time{}, 0, 2, Bytes{3'000'000});
  const std::size_t late = network.send(Time{500us}, 1, 2, Bytes{1'000'000});
  network.run();
  // 1.0-1.5 ms alone (0.5 MB), then half speed each until the small one is done at 3.5 ms, then alone.
  EXPECT_EQ(network.arrived(late), Time{3500us});
  EXPECT_EQ(network.arrived(slow), Time{5ms});
}

TEST(Flow, AStreamIsInOrderAndUsesTheLinkWithoutAGap) {
  TestNetwork network{"flow", kStar};
  const StreamId stream = network.model().open_stream();
  const std::size_t a = network.send(Time{}, 0, 1, Bytes{1'000'000}, stream);
  const std::size_t b = network.send(Time{}, 0, 1, Bytes{1'000'000}, stream);
  const std::size_t c = network.send(Time{10ms}, 0, 1, Bytes{0}, stream);
  network.run();
  EXPECT_EQ(network.arrived(a), Time{2ms});
  EXPECT_EQ(network.arrived(b), Time{3ms});
  EXPECT_EQ(network.arrived(c), Time{11ms});
}

TEST(Flow, TwoStreamsThatEndMessagesTogetherShareTheNextOnesToo) {
  TestNetwork network{"flow", kStar};
  const StreamId a = network.model().open_stream();
  const StreamId b = network.model().open_stream();
  std::size_t last = 0;
  for (int i = 0; i < 3; ++i) {
    network.send(Time{}, 1, 0, Bytes{1'000'000}, a);
    last = network.send(Time{}, 2, 0, Bytes{1'000'000}, b);
  }
  network.run();
  EXPECT_EQ(network.arrived(last), Time{7ms});  // Six megabytes through one port, however they are cut.
}

TEST(Flow, LinksChangeUnderWay) {
  TestNetwork network{"flow", kStar};
  const std::size_t message = network.send(Time{}, 0, 1, Bytes{3'000'000});
  const topology::LinkId up = network.cluster().graph.hops(network.cluster().ranks[0])[0].link;
  network.change(Time{2ms}, up, {Bandwidth::bytes_per_second(500'000'000), 500us, true});
  network.change(Time{3ms}, up, {Bandwidth::bytes_per_second(500'000'000), 500us, false});
  network.change(Time{7ms}, up, {Bandwidth::bytes_per_second(1'000'000'000), 500us, true});
  network.run();
  EXPECT_EQ(network.arrived(message), Time{8500us});  // 1 MB, 0.5 MB, nothing for 4 ms, then 1.5 MB.
}

TEST(Flow, ALinkThatStaysDownIsNamed) {
  TestNetwork network{"flow", kStar};
  network.send(Time{}, 0, 1, Bytes{3'000'000});
  const topology::LinkId up = network.cluster().graph.hops(network.cluster().ranks[0])[0].link;
  network.change(Time{2ms}, up, {Bandwidth::bytes_per_second(500'000'000), 500us, false});
  try {
    network.run();
    FAIL() << "nothing reported";
  } catch (const SimulationError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("host[0]->switch[0] is down"));
  }
}

TEST(Flow, DelayedSharingIsBoundedAndSaysSo) {
  const auto makespan = [](const std::string& model, std::vector<std::string>* notes) {
    TestNetwork network{model, "star:hosts=16,bandwidth=25GBps,latency=500ns"};
    Rng rng{3, "sizes"};
    std::vector<std::size_t> sent;
    for (std::size_t i = 0; i < 16; ++i) {
      for (std::size_t j = 0; j < 16; ++j) {
        if (i != j) sent.push_back(network.send(Time{}, i, j, Bytes{rng.between(2'000'000, 6'000'000)}));
      }
    }
    network.run();
    Time last{};
    for (const std::size_t message : sent) last = std::max(last, network.arrived(message));
    if (notes != nullptr) *notes = network.model().notes();
    return last;
  };
  std::vector<std::string> notes;
  const Time exact = makespan("flow", nullptr);
  const Time delayed = makespan("flow:resolve_delay=1us", &notes);
  EXPECT_GE(delayed, exact);
  EXPECT_LE(delayed.time_since_epoch(), exact.time_since_epoch() * 101 / 100);
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_THAT(notes[0], testing::HasSubstr("resolve_delay 1us"));
}

}  // namespace
}  // namespace orrery::network
