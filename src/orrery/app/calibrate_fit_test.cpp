// SPDX-License-Identifier: Apache-2.0
// Goal: a calibration gives back the link and the costs that its measurements were made of.
// Method: made-up measurements of a link of 100 MB/s and 20 us.
#include "orrery/app/calibrate_fit.hpp"

#include "orrery/app/calibrate_probe.hpp"

#include <gtest/gtest.h>

namespace orrery::app {
namespace {

constexpr double kMicrosecond = 1e6;  // In picoseconds.
constexpr double kByte = 1e4;         // 100 MB/s.
const std::function<bool()> kNeverStops = [] { return false; };

double message_ps(std::int64_t size) { return 20 * kMicrosecond + kByte * static_cast<double>(size); }

std::vector<CalibrationPoint> messages(double more_ps) {
  std::vector<CalibrationPoint> points;
  for (const std::int64_t size : {1024, 65'536, 262'144, 1'048'576, 4'194'304}) {
    points.push_back({.operation = "send_recv", .size = size, .measured_ps = message_ps(size) + more_ps});
  }
  return points;
}

TEST(CalibrateFit, TheLinkIsThatOfTheMessages) {
  std::vector<CalibrationPoint> points = messages(0);
  const ClusterValues values = fit_values(2, points, {}, kNeverStops);
  EXPECT_NEAR(values.bandwidth, 1e8, 1);
  EXPECT_NEAR(values.latency, 20e-6, 1e-9);
  for (const CalibrationPoint& point : points) EXPECT_NEAR(point.simulated_ps, point.measured_ps, 2000);
}

TEST(CalibrateFit, WhatAPauseAddsIsWakingAndNotTheLink) {
  constexpr double kWake = 80 * kMicrosecond;
  constexpr double kIdle = 5000 * kMicrosecond;
  std::vector<CalibrationPoint> points = messages(kWake);
  for (CalibrationPoint& point : points) point.idle_ps = kIdle;
  const std::vector<WakingPoint> waking{{"send_recv", 4096, 10 * kMicrosecond, message_ps(4096)},
                                        {"send_recv", 4096, kIdle, message_ps(4096) + kWake}};
  const ClusterValues values = fit_values(2, points, waking, kNeverStops);
  EXPECT_NEAR(values.latency, 20e-6, 1e-9);
  ASSERT_EQ(values.wakes.send_recv.size(), 2U);
  EXPECT_EQ(values.wakes.send_recv[0].time, Duration{});
  EXPECT_NEAR(static_cast<double>(count_ps(values.wakes.send_recv[1].time)), kWake, 2000);
  for (const CalibrationPoint& point : points) EXPECT_NEAR(point.simulated_ps, point.measured_ps, 2000);
}

TEST(CalibrateFit, WakingLeavesRoomForWhatMoreProbesMeasured) {
  constexpr double kIdle = 5000 * kMicrosecond;
  std::vector<CalibrationPoint> points = messages(40 * kMicrosecond);
  for (CalibrationPoint& point : points) point.idle_ps = kIdle;
  const std::vector<WakingPoint> waking{{"send_recv", 4096, 10 * kMicrosecond, message_ps(4096)},
                                        {"send_recv", 4096, kIdle, message_ps(4096) + 80 * kMicrosecond},
                                        {"send_recv", 4096, 4 * kIdle, message_ps(4096) + 100 * kMicrosecond}};
  const ClusterValues values = fit_values(2, points, waking, kNeverStops);
  ASSERT_EQ(values.wakes.send_recv.size(), 3U);
  EXPECT_NEAR(static_cast<double>(count_ps(values.wakes.send_recv[1].time)), 40 * kMicrosecond, 2000);
  EXPECT_NEAR(static_cast<double>(count_ps(values.wakes.send_recv[2].time)), 50 * kMicrosecond, 2000);
  for (const CalibrationPoint& point : points) EXPECT_NEAR(point.simulated_ps, point.measured_ps, 4000);
}

/// A bucket lets the first bytes pass at once: short messages take no time of the link, and their waking would be
/// counted on top of a link that they do not feel.
TEST(CalibrateFit, AMessageQuickerThanItsLinkIsNotMadeLongerByWaking) {
  constexpr double kIdle = 5000 * kMicrosecond;
  std::vector<CalibrationPoint> points = messages(0);
  points.front() = {.operation = "send_recv", .size = 4096, .measured_ps = 50 * kMicrosecond, .idle_ps = kIdle};
  const std::vector<WakingPoint> waking{{"send_recv", 4096, 10 * kMicrosecond, 30 * kMicrosecond},
                                        {"send_recv", 4096, kIdle, 50 * kMicrosecond}};
  const ClusterValues values = fit_values(2, points, waking, kNeverStops);
  EXPECT_EQ(values.wakes.send_recv.back().time.count() / 1'000'000, 50 - 41);  // 4096 B take 41 us of the link.
  EXPECT_NEAR(points.front().simulated_ps, points.front().measured_ps, 2000);
}

TEST(CalibrateFit, ALineThatBeginsBelowZeroIsThatOfABucket) {
  constexpr std::int64_t kBurst = 15'000;
  std::vector<CalibrationPoint> points = messages(0);
  for (CalibrationPoint& point : points) point.measured_ps = message_ps(std::max<std::int64_t>(0, point.size - kBurst));
  EXPECT_EQ(fit_values(2, points, {}, kNeverStops).burst, 0) << "nobody said that there is one";
  const ClusterValues values = fit_values(2, points, {}, kNeverStops, 16'000);
  EXPECT_NEAR(static_cast<double>(values.burst), kBurst, 2);
  EXPECT_NEAR(values.latency, 20e-6, 1e-7);
  EXPECT_NE(cluster_text(values, "x", 2).find("burst: 15000B"), std::string::npos);
  for (const CalibrationPoint& point : points) EXPECT_NEAR(point.simulated_ps, point.measured_ps, 100'000);
}

TEST(CalibrateFit, MemoryIsQuickerForWhatACacheHolds) {
  std::vector<CalibrationPoint> points = messages(0);
  points.back().measured_ps *= 2;
  const ClusterValues values = fit_values(2, points, {}, kNeverStops);
  EXPECT_NEAR(values.bandwidth, 1e8, 1);
  for (const CalibrationPoint& point : points) EXPECT_NEAR(point.simulated_ps, point.measured_ps, 2000);
}

TEST(CalibrateFit, WhatALongerOperationTakesFromTheCoreIsNeverLess) {
  const topology::OperationCosts curves =
      rising_curves({{"broadcast", 4096, 7e6}, {"all_reduce", 65536, 3e6}, {"all_reduce", 1024, 5e6}});
  ASSERT_EQ(curves.all_reduce.size(), 2U);
  EXPECT_EQ(curves.all_reduce.front(), (topology::CostPoint{Bytes{1024}, Duration{5'000'000}}));
  EXPECT_EQ(curves.all_reduce.back(), (topology::CostPoint{Bytes{65536}, Duration{5'000'000}}));
  EXPECT_EQ(curves.broadcast.size(), 1U);
}

TEST(CalibrateFit, ABufferIsTheMostThatASenderLeavesToTheKernel) {
  EXPECT_EQ(send_buffer_of({{4096, 0.9}, {1 << 18, 1.0}, {1 << 20, 0.75}, {3 << 19, 0.5}}), 786'432);
  EXPECT_EQ(send_buffer_of({{1 << 18, 0.1}, {1 << 20, 0.02}}), 0) << "sent as slowly as the link is";
  EXPECT_EQ(send_buffer_of({{4096, 0.9}}), 0) << "threads, not bytes";
}

TEST(CalibrateFit, LaunchesThatDifferAreNamed) {
  std::vector<CalibrationPoint> points = messages(0);
  for (CalibrationPoint& point : points) point.spread = 0.1;
  points.back().spread = 0.9;  // One of them may.
  EXPECT_EQ(disagreement(points), "");
  for (CalibrationPoint& point : points) point.spread = 0.34;
  EXPECT_NE(disagreement(points).find("+-34 %"), std::string::npos);
  EXPECT_EQ(disagreement({}), "");
}

}  // namespace
}  // namespace orrery::app
