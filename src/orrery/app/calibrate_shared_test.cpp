// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/calibrate_shared.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace orrery::app {
namespace {

constexpr double kMs = 1e9;

TEST(CalibrateShared, CallsWhoseDirectionsFollowEachOtherAreLeftOut) {
  Launches gathering{{101 * kMs, 152 * kMs, 103 * kMs}, {149 * kMs, 151 * kMs, 102 * kMs}};
  leave_shared(100 * kMs, 1 * kMs, gathering);
  EXPECT_EQ(pooled(gathering), (std::vector<double>{101 * kMs, 103 * kMs, 102 * kMs}));
  EXPECT_EQ(gathering.size(), 2U);
}

TEST(CalibrateShared, NothingIsFittedWhereHardlyACallSharedTheLink) {
  Launches apart{{200 * kMs, 201 * kMs}, {199 * kMs, 101 * kMs}};
  leave_shared(100 * kMs, 1 * kMs, apart);
  EXPECT_TRUE(pooled(apart).empty());
}

TEST(CalibrateShared, ShortOnesHaveNoModes) {
  const Launches before{{1.1 * kMs, 2.5 * kMs, 1.9 * kMs}};
  Launches launches = before;
  leave_shared(3 * kMs, 1 * kMs, launches);
  EXPECT_EQ(launches, before);
}

TEST(CalibrateShared, ThePaceIsThatOfLongMessages) {
  constexpr std::int64_t kLong = 1 << 20;
  const std::vector<Probe> probes{{.operation = "message", .bytes = 1024},
                                  {.operation = "message", .bytes = kLong},
                                  {.operation = "broadcast", .bytes = kLong},
                                  {.operation = "message", .bytes = kLong, .overlaps = true}};
  const std::vector<Launches> times{{{1.0}}, {{44 * kMs}, {46 * kMs}}, {{10 * kMs}}, {}};
  EXPECT_DOUBLE_EQ(pace_of(probes, times), 45 * kMs / kLong);
  EXPECT_TRUE(std::isinf(pace_of({probes[0]}, {times[0]})));
}

TEST(CalibrateShared, EachRankReceivesTheOthersParts) {
  const Probe all_to_all{.operation = "all_to_all_single", .bytes = 1000};
  const Probe all_gather{.operation = "all_gather", .bytes = 1000};
  EXPECT_DOUBLE_EQ(received_bytes(all_to_all, 2), 500);
  EXPECT_DOUBLE_EQ(received_bytes(all_to_all, 4), 750);
  EXPECT_DOUBLE_EQ(received_bytes(all_gather, 2), 1000);
  EXPECT_DOUBLE_EQ(received_bytes(all_gather, 4), 3000);
  EXPECT_TRUE(is_exchange(all_gather) && is_exchange(all_to_all));
  EXPECT_FALSE(is_exchange({.operation = "all_reduce"}));
  EXPECT_FALSE(is_exchange({.operation = "all_gather", .late = 100}));
}

}  // namespace
}  // namespace orrery::app
