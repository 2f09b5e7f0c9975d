// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/statistics.hpp"

#include <gtest/gtest.h>

namespace orrery::app {
namespace {

TEST(Statistics, MedianOfAnEvenNumberIsTheMeanOfTheMiddleTwo) {
  EXPECT_EQ(median({4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median({5, 1, 3}), 3);
  EXPECT_EQ(median({}), 0);
}

TEST(Statistics, ATrimmedMeanLeavesOutTheEnds) {
  EXPECT_EQ(trimmed_mean({100, 1, 2, 3, -50}), 2);
  EXPECT_EQ(trimmed_mean({1, 1, 1, 3, 3, 3}), 2);  // Of two speeds, their mean.
  EXPECT_EQ(trimmed_mean({5, 7}), 6);
  EXPECT_EQ(trimmed_mean({}), 0);
}

TEST(Statistics, MannWhitneyOfSetsThatDoNotOverlapCountsTheArrangements) {
  // All of one set above all of the other: 2 of (6 choose 3) = 20 arrangements are that extreme.
  EXPECT_DOUBLE_EQ(mann_whitney({1, 2, 3}, {4, 5, 6}).value(), 0.1);
  // 2 of (10 choose 5) = 252.
  EXPECT_DOUBLE_EQ(mann_whitney({1, 2, 3, 4, 5}, {6, 7, 8, 9, 10}).value(), 2.0 / 252);
}

TEST(Statistics, MannWhitneyOfOneSwapCountsFourArrangements) {
  // U = 1: of 20 arrangements one has U = 0 and one has U = 1, and as many at the other end.
  EXPECT_DOUBLE_EQ(mann_whitney({1, 2, 4}, {3, 5, 6}).value(), 0.2);
}

TEST(Statistics, MannWhitneyOfEqualSetsSaysNothing) {
  EXPECT_DOUBLE_EQ(mann_whitney({1, 2, 3, 4}, {1, 2, 3, 4}).value(), 1.0);
  EXPECT_DOUBLE_EQ(mann_whitney({7, 7, 7}, {7, 7, 7}).value(), 1.0);
  EXPECT_FALSE(mann_whitney({1, 2}, {3, 4}).has_value());
}

TEST(Statistics, AnIntervalHoldsTheMedianAndIsAPointForOneValue) {
  const std::vector<double> values{9, 10, 10.5, 11, 12, 9.5, 10.2};
  const Interval interval = median_interval(values);
  EXPECT_LE(interval.low, median(values));
  EXPECT_GE(interval.high, median(values));
  EXPECT_GE(interval.low, 9);
  EXPECT_LE(interval.high, 12);
  EXPECT_EQ(median_interval({3}).low, 3);
  EXPECT_EQ(median_interval({3}).high, 3);
}

TEST(Statistics, TheIntervalOfARatioIsTheSameEveryTime) {
  const std::vector<double> a{1.1, 1.2, 1.3};
  const std::vector<double> b{1.0, 1.0, 1.0};
  EXPECT_EQ(ratio_interval(a, b).low, ratio_interval(a, b).low);
  EXPECT_NEAR(ratio_interval(a, b).low, 0.1, 1e-12);
  EXPECT_NEAR(ratio_interval(a, b).high, 0.3, 1e-12);
}

}  // namespace
}  // namespace orrery::app
