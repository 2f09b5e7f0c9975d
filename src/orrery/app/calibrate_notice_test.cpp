// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/calibrate_notice.hpp"

#include <gtest/gtest.h>

namespace orrery::app {
namespace {

constexpr double kMicrosecond = 1e6;
constexpr std::int64_t kMebibyte = 1 << 20;

/// Exchanges at a nanosecond a byte: who is later than `base` and `slope` a MiB waits for the other direction. One
/// call in nine is as the others are.
std::vector<LateCall> exchanges(double base, double slope, double slower) {
  std::vector<LateCall> calls;
  int number = 0;
  for (const std::int64_t size : {kMebibyte / 16, kMebibyte / 4, kMebibyte}) {
    const double limit = base + slope * static_cast<double>(size) / static_cast<double>(kMebibyte);
    for (double delay = 5 * kMicrosecond; delay < 600 * kMicrosecond; delay += 5 * kMicrosecond) {
      const bool is_apart = (delay > limit) != (++number % 9 == 0);
      const double noise = 1 + 0.02 * (number % 5);
      calls.push_back({size, delay, static_cast<double>(size) * 1000 * noise * (is_apart ? slower : 1)});
    }
  }
  return calls;
}

TEST(CalibrateNotice, GrowsWithTheSizeAndIsFoundAmongNoise) {
  for (const double slower : {2.0, 1.4}) {  // all_to_all, all_gather
    const std::optional<Notice> notice = find_notice(exchanges(40 * kMicrosecond, 200 * kMicrosecond, slower));
    ASSERT_TRUE(notice.has_value());
    EXPECT_FALSE(notice->is_never);
    EXPECT_NEAR(notice->base, 40 * kMicrosecond, 5 * kMicrosecond);
    EXPECT_NEAR(notice->per_byte * kMebibyte, 200 * kMicrosecond, 10 * kMicrosecond);
  }
}

TEST(CalibrateNotice, ABaseOfNearlyNothingIsNotBoughtBySlope) {
  const std::optional<Notice> notice = find_notice(exchanges(2 * kMicrosecond, 300 * kMicrosecond, 2));
  ASSERT_TRUE(notice.has_value());
  EXPECT_NEAR(notice->base + notice->per_byte * kMebibyte / 4, 77 * kMicrosecond, 8 * kMicrosecond);
  EXPECT_NEAR(notice->base + notice->per_byte * kMebibyte, 302 * kMicrosecond, 8 * kMicrosecond);
}

TEST(CalibrateNotice, NoSlopeFromOneSize) {
  std::vector<LateCall> calls = exchanges(100 * kMicrosecond, 0, 2);
  std::erase_if(calls, [](const LateCall& call) { return call.size != kMebibyte; });
  const std::optional<Notice> notice = find_notice(calls);
  ASSERT_TRUE(notice.has_value());
  EXPECT_NEAR(notice->base, 100 * kMicrosecond, 5 * kMicrosecond);
  EXPECT_EQ(notice->per_byte, 0);
}

TEST(CalibrateNotice, NeverWhereLateCallsTakeNoLonger) {
  const std::optional<Notice> notice = find_notice(exchanges(100 * kMicrosecond, 0, 1.1));
  ASSERT_TRUE(notice.has_value());
  EXPECT_TRUE(notice->is_never);
  const topology::CostCurve curve = notice_curve(*notice, 0);
  EXPECT_EQ(topology::cost_at(curve, Bytes{1 << 30}), Duration{1'000'000'000'000});
}

TEST(CalibrateNotice, NothingFromTooFewCalls) {
  EXPECT_FALSE(find_notice({}).has_value());
  EXPECT_FALSE(find_notice(std::vector<LateCall>(15)).has_value());
}

TEST(CalibrateNotice, ACurveIsBesideTheLatency) {
  const topology::CostCurve curve = notice_curve({.base = 50e6, .per_byte = 100}, 20e-6);
  EXPECT_EQ(topology::cost_at(curve, Bytes{}), Duration{30'000'000});
  EXPECT_EQ(topology::cost_at(curve, Bytes{3 << 20}), Duration{30'000'000 + 100LL * (3 << 20)});
  EXPECT_EQ(topology::cost_at(notice_curve({.base = 10e6}, 20e-6), Bytes{}), Duration{});
}

TEST(CalibrateNotice, BlocksThatAreMappedAnewAreNoticedLater) {
  const topology::CostCurve curve = notice_curve({.base = 50e6, .per_byte = 100}, 20e-6, 200);
  constexpr std::int64_t kMapped = 32 << 20;
  EXPECT_EQ(topology::cost_at(curve, Bytes{kMapped - 2}), Duration{30'000'000 + 100LL * (kMapped - 2)});
  EXPECT_EQ(topology::cost_at(curve, Bytes{kMapped}), Duration{30'000'000 + 300LL * kMapped});
  EXPECT_EQ(topology::cost_at(curve, Bytes{4 * kMapped}), Duration{30'000'000 + 300LL * 4 * kMapped});
}

}  // namespace
}  // namespace orrery::app
