// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/key_statistics.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <memory>

#include "orrery/live/rank/host_speed.hpp"

namespace orrery::live {
namespace {

TEST(LowEnd, IsTheSmallestOfAFewAndTheFourthSmallestOfMany) {
  LowEnd low;
  for (const std::int64_t value : {50, 30, 40, 20, 60}) low.add(value);
  EXPECT_EQ(low.count(), 5U);
  EXPECT_EQ(low.value(), 20);
  for (int i = 0; i < 100; ++i) low.add(1000);
  EXPECT_EQ(low.value(), 50);
}

TEST(LowEnd, OneFreakDoesNotDecideForEver) {
  LowEnd low;
  low.add(1);
  for (int i = 0; i < 64; ++i) low.add(100);
  EXPECT_EQ(low.value(), 100);
}

TEST(KeyTable, KeepsKeysApartAndStaysWhereItIs) {
  KeyTable table;
  LowEnd& first = table.find(7);
  first.add(70);
  for (std::uint64_t key = 100; key < 1100; ++key) table.find(key).add(static_cast<std::int64_t>(key));
  EXPECT_EQ(&table.find(7), &first);
  for (std::uint64_t key = 100; key < 1100; ++key) {
    EXPECT_EQ(table.find(key).value(), static_cast<std::int64_t>(key));
  }
  EXPECT_EQ(&table.find(0), &table.find(0));
}

TEST(KeyTable, SharesItsMemory) {
  const std::unique_ptr<void, decltype(&std::free)> memory{std::aligned_alloc(64, KeyTable::kBytes),
                                                           std::free};
  std::fill_n(static_cast<char*>(memory.get()), KeyTable::kBytes, '\0');
  KeyTable one{memory.get()};
  KeyTable other{memory.get()};
  one.find(5).add(50);
  EXPECT_EQ(other.find(5).value(), 50);
}

TEST(KeyTable, ForgetsNewKeysWhenFull) {
  KeyTable table;
  for (std::uint64_t key = 1; key <= KeyTable::kEntries; ++key) table.find(key).add(1);
  LowEnd& late = table.find(KeyTable::kEntries + 1);
  late.add(9);
  EXPECT_EQ(table.size(), KeyTable::kEntries);
  EXPECT_EQ(table.find(KeyTable::kEntries + 2).count(), 0U);
  EXPECT_EQ(table.find(17).count(), 1U);
}

std::int64_t loop_ns = 100;

TEST(HostSpeed, IsTheMedianOfTheLastThreeOverTheBest) {
  LowEnd best;
  HostSpeed speed{[] { return loop_ns; }, best};
  std::int64_t now = 0;
  const auto sample = [&](std::int64_t took) {
    loop_ns = took;
    speed.sample(now += 10'000'000);
  };
  sample(100);
  EXPECT_EQ(speed.slowness(), 1);
  sample(900);  // Interrupted.
  EXPECT_EQ(speed.slowness(), 1);
  sample(200);
  EXPECT_EQ(speed.slowness(), 2);
  loop_ns = 100;
  speed.sample(now + 1);  // Too soon.
  EXPECT_EQ(speed.slowness(), 2);
  sample(100);
  sample(100);
  EXPECT_EQ(speed.slowness(), 1);
}

TEST(HostSpeed, AfterALongTimeOnlyNewSamplesCount) {
  LowEnd best;
  HostSpeed speed{[] { return loop_ns; }, best};
  loop_ns = 100;
  speed.sample(10);
  EXPECT_EQ(speed.slowness(), 1);
  loop_ns = 300;
  speed.sample(1'000'000'000);
  EXPECT_EQ(speed.slowness(), 3);
}

TEST(HostSpeed, KnowsTheBestOfEarlierRuns) {
  LowEnd best;
  best.add(50);
  HostSpeed speed{[] { return loop_ns; }, best};
  loop_ns = 100;
  speed.sample(10);
  EXPECT_EQ(speed.slowness(), 2);
}

TEST(HostSpeed, TheLoopTakesMicroseconds) {
  LowEnd best;
  EXPECT_GT(time_reference_loop(), 500);
  EXPECT_EQ((HostSpeed{nullptr, best}.slowness()), 1);
}

}  // namespace
}  // namespace orrery::live
