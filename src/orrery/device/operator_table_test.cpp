// SPDX-License-Identifier: Apache-2.0
#include "orrery/device/operator_table.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "orrery/device/families.hpp"
#include "orrery/device/portable_math.hpp"

namespace orrery::device {
namespace {

Axes gemm(std::int64_t m, std::int64_t n, std::int64_t k) { return {.sizes = {1, m, n, k}, .count = 4}; }

Rates some_rates() {
  Rates rates;
  rates.peak.fill(1e12);
  rates.bandwidth = 1e11;
  rates.launch_ps = 1'000'000;
  return rates;
}

double base_of(const Axes& axes) {
  return roofline_ps(gemm_work(axes, DataType::kFp32), OperatorClass::kGemm, DataType::kFp32, some_rates());
}

/// A device whose efficiency falls off as a power of m.
double truth(const Axes& axes) {
  return (base_of(axes) + 1e6) * 1.5 * std::pow(static_cast<double>(axes[1]), -0.07);
}

OperatorTable grid() {
  OperatorTable table;
  for (const std::int64_t m : {1, 16, 64, 256, 1024}) {
    for (const std::int64_t n : {64, 256, 1024, 4096}) {
      for (const std::int64_t k : {64, 256, 1024, 4096}) {
        table.add("gemm", DataType::kFp32, OperatorClass::kGemm,
                  {.axes = gemm(m, n, k), .duration_ps = truth(gemm(m, n, k))});
      }
    }
  }
  return table;
}

TEST(PortableMath, AgreesWithTheLibrary) {
  for (const double value : {1e-9, 0.3, 0.70710678, 1.0, 1.5, 2.0, 3.0, 1e3, 123456789.0, 1e18}) {
    EXPECT_NEAR(portable_log2(value), std::log2(value), 1e-13 * (1 + std::abs(std::log2(value)))) << value;
  }
  for (const double value : {-30.0, -0.5, 0.0, 0.1, 0.5, 1.0, 7.3, 40.0}) {
    EXPECT_NEAR(portable_exp2(value) / std::exp2(value), 1.0, 1e-13) << value;
  }
}

TEST(Interpolation, ProfiledPointsAreExact) {
  const OperatorTable table = grid();
  const Series& series = *table.find("gemm", DataType::kFp32);
  for (const Point& point : series.points) {
    const Estimate found = interpolate(series, point.axes, some_rates());
    EXPECT_NEAR(found.duration_ps / point.duration_ps, 1.0, 1e-12);
    EXPECT_FALSE(found.is_extrapolated);
  }
}

TEST(Interpolation, BetweenPointsItFollowsAPowerLaw) {
  const OperatorTable table = grid();
  const Series& series = *table.find("gemm", DataType::kFp32);
  for (const Axes& axes : {gemm(100, 500, 700), gemm(32, 128, 2048), gemm(700, 3000, 90)}) {
    const Estimate found = interpolate(series, axes, some_rates());
    EXPECT_NEAR(found.duration_ps / truth(axes), 1.0, 0.01);
    EXPECT_FALSE(found.is_extrapolated);
  }
}

TEST(Interpolation, OutsideItIsToldAndStaysNearTheRoofline) {
  const OperatorTable table = grid();
  const Series& series = *table.find("gemm", DataType::kFp32);
  const Axes axes = gemm(16384, 16384, 16384);
  const Estimate found = interpolate(series, axes, some_rates());
  EXPECT_TRUE(found.is_extrapolated);
  EXPECT_NEAR(found.duration_ps / truth(axes), 1.0, 0.3);
}

TEST(Interpolation, SingleRowsAreTheirOwnKind) {
  OperatorTable table = grid();
  // Rows of one take ten times as long as others; those next to them must not notice.
  OperatorTable changed;
  for (const Point& point : table.series().front().points) {
    const double factor = point.axes[1] == 1 ? 10 : 1;
    changed.add("gemm", DataType::kFp32, OperatorClass::kGemm,
                {.axes = point.axes, .duration_ps = factor * point.duration_ps});
  }
  const Axes two = gemm(16, 300, 300);
  const Axes one = gemm(1, 300, 300);
  const Series& series = changed.series().front();
  EXPECT_NEAR(interpolate(series, two, some_rates()).duration_ps / truth(two), 1.0, 0.02);
  EXPECT_NEAR(interpolate(series, one, some_rates()).duration_ps / truth(one), 10.0, 0.2);
}

TEST(Interpolation, ASinglePointIsEnough) {
  OperatorTable table;
  table.add("gemm", DataType::kFp32, OperatorClass::kGemm, {.axes = gemm(8, 8, 8), .duration_ps = 2e6});
  const Axes axes = gemm(800, 800, 800);
  const Estimate found = interpolate(table.series().front(), axes, some_rates());
  EXPECT_TRUE(found.is_extrapolated);
  EXPECT_GT(found.duration_ps, 0);
}

TEST(Families, WorkOfProductsAndAttention) {
  const Work product = gemm_work({.sizes = {2, 3, 5, 7}, .count = 4}, DataType::kBf16);
  EXPECT_EQ(product.flops, 2.0 * 2 * 3 * 5 * 7);
  EXPECT_EQ(product.bytes, 2.0 * 2 * (21 + 35 + 15));
  const Axes axes{.sizes = {2, 8, 4, 16, 16, 64}, .count = 6};
  EXPECT_EQ(attention_work(axes, DataType::kFp32, false, false).flops, 4.0 * 2 * 8 * 16 * 16 * 64);
  EXPECT_EQ(attention_work(axes, DataType::kFp32, true, false).flops, 4.0 * 2 * 8 * 136 * 64);
  EXPECT_EQ(attention_work(axes, DataType::kFp32, false, true).flops, 10.0 * 2 * 8 * 16 * 16 * 64);
  EXPECT_EQ(attention_work(axes, DataType::kFp32, false, false).bytes,
            4.0 * 2 * 64 * (2 * 8 * 16 + 2 * 4 * 16));
}

}  // namespace
}  // namespace orrery::device
