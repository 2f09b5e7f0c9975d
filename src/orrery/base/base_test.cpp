// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <set>

#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/pool.hpp"
#include "orrery/base/rng.hpp"
#include "orrery/base/text.hpp"
#include "orrery/base/units.hpp"

namespace orrery {
namespace {

using namespace std::chrono_literals;

TEST(Units, TransferTimeRoundsUpAndSaturates) {
  EXPECT_EQ(transfer_time(Bytes{1'000'000}, *parse_bandwidth("400Gbps")), 20us);
  EXPECT_EQ(transfer_time(Bytes{1}, *parse_bandwidth("3Bps")), picoseconds(333'333'333'334));
  EXPECT_EQ(transfer_time(Bytes{64}, *parse_bandwidth("900GBps")), picoseconds(72));
  EXPECT_EQ(transfer_time(Bytes{1'000'000'000'000'000}, Bandwidth::bits_per_second(1)), Duration::max());
  EXPECT_THROW(static_cast<void>(transfer_time(Bytes{1}, Bandwidth{})), Bug);
}

TEST(Units, SaturatingAddNeverWraps) {
  EXPECT_EQ(saturating_add(kTimeMax - 1ns, 2ns), kTimeMax);
  EXPECT_EQ(saturating_add(Time{}, 2ns), Time{2ns});
}

TEST(Text, QuantitiesNeedTheirUnit) {
  EXPECT_EQ(parse_duration("1.5us"), Duration{1'500'000});
  EXPECT_EQ(parse_duration("936.25 ns"), Duration{936'250});
  EXPECT_EQ(parse_bytes("64KiB"), Bytes{65536});
  EXPECT_EQ(parse_bandwidth("25GBps"), parse_bandwidth("200Gb/s"));
  EXPECT_EQ(parse_bandwidth("100Mbps")->bits_per_second(), 100'000'000);
  EXPECT_EQ(parse_flops("312Tflops")->per_second, 312e12);
  for (const char* bad : {"", "5", "-5us", "5 parsecs", "1e30s", "nan us", "inf us", "us", "5us5"}) {
    EXPECT_FALSE(parse_duration(bad)) << bad;
  }
  EXPECT_FALSE(parse_bandwidth("400G"));
  EXPECT_FALSE(parse_bandwidth("400"));
}

TEST(Text, RoundTripsWhatItPrints) {
  EXPECT_EQ(to_text(Duration{1'500'000}), "1.5us");
  EXPECT_EQ(to_text(*parse_bandwidth("400Gbps")), "400Gbps");
  EXPECT_EQ(to_text(Bytes{1 << 20}), "1MiB");
  EXPECT_EQ(to_text(Bytes{1000}), "1000B");
}

TEST(Errors, NearestNameIsCloseOrAbsent) {
  EXPECT_EQ(nearest_name("bandwith", {"latency", "bandwidth"}), "bandwidth");
  EXPECT_EQ(nearest_name("zzz", {"latency", "bandwidth"}), "");
}

TEST(Errors, MessageHoldsEveryPart) {
  const InputError error{{.source = "c.yaml",
                          .position = {3, 7},
                          .field = "links[0].bandwith",
                          .value = "x",
                          .expected = "unknown key",
                          .nearest = "bandwidth"}};
  EXPECT_STREQ(error.what(), "c.yaml:3:7: links[0].bandwith: 'x': unknown key (did you mean 'bandwidth'?)");
}

TEST(Rng, StreamsAreIndependentAndRepeatable) {
  Rng a{1, "link[0]", "jitter"};
  Rng b{1, "link[0]", "jitter"};
  Rng c{1, "link[1]", "jitter"};
  const std::uint64_t first = a.next();
  EXPECT_EQ(first, b.next());
  EXPECT_NE(first, c.next());
  for (int i = 0; i < 1000; ++i) {
    const std::int64_t value = a.between(-3, 3);
    EXPECT_GE(value, -3);
    EXPECT_LE(value, 3);
    EXPECT_LT(a.uniform(), 1.0);
  }
}

TEST(Pool, ObjectsStayWhereTheyAreAndNumbersComeBack) {
  Pool<int> pool;
  int& first = pool[pool.take()];
  first = 7;
  for (std::uint32_t number = 1; number < 1000; ++number) EXPECT_EQ(pool.take(), number);
  EXPECT_EQ(&pool[0], &first);
  EXPECT_EQ(pool[0], 7);
  EXPECT_EQ(pool.size(), 1000U);
  pool.give_back(500);
  pool.give_back(0);
  EXPECT_EQ(pool.take(), 0U);
  EXPECT_EQ(pool[0], 7);
  EXPECT_EQ(pool.take(), 500U);
  EXPECT_EQ(pool.size(), 1000U);
}

}  // namespace
}  // namespace orrery
