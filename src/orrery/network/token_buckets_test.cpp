// SPDX-License-Identifier: Apache-2.0
#include "orrery/network/token_buckets.hpp"

#include <gtest/gtest.h>

#include <string>

#include "orrery/network/test_network.hpp"
#include "orrery/testing/temporary_folder.hpp"

namespace orrery::network {
namespace {

constexpr std::int64_t kUs = 1'000'000;

Time at_us(std::int64_t us) { return Time{Duration{us * kUs}}; }

const Bandwidth kRate = Bandwidth::bits_per_second(8'000'000'000);
constexpr Duration kLatency{10 * kUs};

/// A link of 1 GB/s and 10 us; the bucket holds 100 kB, which is 100 us of it.
class Buckets : public testing::TestWithParam<const char*> {
 protected:
  test::TemporaryFolder folder_;
  std::string pair_ = folder_.write("pair.yaml",
                                    "nodes: {n: {count: 3}}\n"
                                    "links:\n"
                                    "  n[0] - n[1]: {bandwidth: 1GBps, latency: 10us, burst: 100kB}\n"
                                    "  n[1] - n[2]: {bandwidth: 1GBps, latency: 10us}\n");
  TestNetwork network_{GetParam(), pair_};
};

TEST_P(Buckets, WhatIsInTheBucketPassesAtOnce) {
  const std::size_t small = network_.send(at_us(0), 0, 1, Bytes{60'000});
  const std::size_t large = network_.send(at_us(500), 0, 1, Bytes{300'000});
  network_.run();
  EXPECT_EQ(network_.arrived(small), at_us(10));
  EXPECT_EQ(network_.arrived(large), at_us(500 + 200 + 10));
}

TEST_P(Buckets, ItFillsAtTheLinksRate) {
  static_cast<void>(network_.send(at_us(0), 0, 1, Bytes{100'000}));
  const std::size_t soon = network_.send(at_us(40), 0, 1, Bytes{100'000});  // 40 kB are back.
  const std::size_t queued = network_.send(at_us(2'000), 0, 1, Bytes{1'100'000});
  const std::size_t behind = network_.send(at_us(2'900), 0, 1, Bytes{50'000});  // Nothing left, a link in use.
  const std::size_t other_way = network_.send(at_us(2'000), 1, 0, Bytes{100'000});
  network_.run();
  EXPECT_EQ(network_.arrived(soon), at_us(40 + 60 + 10));
  const bool shares = std::string{GetParam()} == "flow";  // For 100 us, until the second one is through.
  EXPECT_EQ(network_.arrived(queued), at_us(2'000 + 1'000 + (shares ? 50 : 0) + 10));
  EXPECT_EQ(network_.arrived(behind), at_us(2'900 + 50 + (shares ? 50 : 0) + 10));
  EXPECT_EQ(network_.arrived(other_way), at_us(2'000 + 10)) << "a bucket each";
}

TEST_P(Buckets, NothingIsFreeWhereALinkOfTheWayHasNone) {
  const std::size_t far = network_.send(at_us(0), 0, 2, Bytes{60'000});
  network_.run();
  EXPECT_GE(network_.arrived(far), at_us(60 + 20));
}

TEST_P(Buckets, NothingPassesALinkThatIsDown) {
  const topology::LinkId link{std::size_t{0}};
  network_.change(at_us(100), link, {.bandwidth = kRate, .latency = kLatency, .up = false});
  const std::size_t held = network_.send(at_us(200), 0, 1, Bytes{60'000});
  network_.change(at_us(500), link, {.bandwidth = kRate, .latency = kLatency});
  if (std::string{GetParam()} == "alpha_beta") {
    EXPECT_THROW(network_.run(), SimulationError) << "a message never arrives there";
    return;
  }
  network_.run();
  EXPECT_EQ(network_.arrived(held), at_us(500 + 60));
}

TEST_P(Buckets, WhatIsOwedStaysOwedWhenTheLinkChanges) {
  static_cast<void>(network_.send(at_us(0), 0, 1, Bytes{1'100'000}));  // The bucket is full again at 1100 us.
  network_.change(at_us(200), topology::LinkId{std::size_t{0}}, {.bandwidth = kRate, .latency = 2 * kLatency});
  const std::size_t later = network_.send(at_us(1'050), 0, 1, Bytes{100'000});  // 50 kB are back.
  network_.run();
  EXPECT_EQ(network_.arrived(later), at_us(1'050 + 50 + 20));
}

TEST_P(Buckets, AllBytesAreCounted) {
  static_cast<void>(network_.send(at_us(0), 0, 1, Bytes{60'000}));
  static_cast<void>(network_.send(at_us(0), 0, 1, Bytes{300'000}));
  network_.run();
  EXPECT_EQ(network_.model().link_counters()[0].bytes, Bytes{360'000});
}

INSTANTIATE_TEST_SUITE_P(Models, Buckets, testing::Values("alpha_beta", "flow"),
                         [](const auto& model) { return std::string{model.param}; });

}  // namespace
}  // namespace orrery::network
