// SPDX-License-Identifier: Apache-2.0
#include "orrery/network/token_buckets.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "orrery/network/test_network.hpp"

namespace orrery::network {
namespace {

constexpr std::int64_t kUs = 1'000'000;

Time at_us(std::int64_t us) { return Time{Duration{us * kUs}}; }

/// A link of 1 GB/s and 10 us; the bucket holds 100 kB, which is 100 us of it.
class Buckets : public testing::TestWithParam<const char*> {
 protected:
  static std::string pair() {
    std::string path = testing::TempDir() + "/buckets" + std::to_string(::getpid()) + ".yaml";
    std::ofstream{path} << "nodes: {n: {count: 3}}\n"
                           "links:\n"
                           "  n[0] - n[1]: {bandwidth: 1GBps, latency: 10us, burst: 100kB}\n"
                           "  n[1] - n[2]: {bandwidth: 1GBps, latency: 10us}\n";
    return path;
  }
  ~Buckets() override { std::filesystem::remove(path_); }
  std::string path_ = pair();
  TestNetwork network_{GetParam(), path_};
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
  EXPECT_GE(network_.arrived(queued), at_us(2'000 + 1'000 + 10));
  EXPECT_GE(network_.arrived(behind), at_us(2'900 + 50 + 10));
  EXPECT_EQ(network_.arrived(other_way), at_us(2'000 + 10)) << "a bucket each";
}

TEST_P(Buckets, NothingIsFreeWhereALinkOfTheWayHasNone) {
  const std::size_t far = network_.send(at_us(0), 0, 2, Bytes{60'000});
  network_.run();
  EXPECT_GE(network_.arrived(far), at_us(60 + 20));
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
