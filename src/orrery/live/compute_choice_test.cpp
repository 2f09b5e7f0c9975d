// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/compute_choice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.hpp"

namespace orrery::live {
namespace {

std::string problem(const std::string& text) {
  try {
    static_cast<void>(parse_compute(text, "--compute"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(ComputeChoice, Forms) {
  EXPECT_EQ(parse_compute("measured", "").mode, MeterMode::kMeasured);
  EXPECT_FALSE(parse_compute("measured", "").is_raw);
  EXPECT_TRUE(parse_compute("measured:raw", "").is_raw);
  EXPECT_EQ(parse_compute("fixed:10us", "").mode, MeterMode::kFixedSegment);
  EXPECT_EQ(parse_compute("fixed:10us", "").fixed, std::chrono::microseconds{10});
  EXPECT_EQ(parse_compute("fixed:2us/op", "").mode, MeterMode::kFixedOperator);
  EXPECT_EQ(parse_compute("fixed:0s", "").fixed, Duration{});
}

TEST(ComputeChoice, MistakesAreNamed) {
  using testing::HasSubstr;
  EXPECT_THAT(problem("mesured"), HasSubstr("measured"));
  EXPECT_THAT(problem("measured:1"), HasSubstr("expected measured"));
  EXPECT_THAT(problem("fixed:10"), HasSubstr("--compute: 'fixed:10': expected a time"));
  EXPECT_THAT(problem("fixed:2h"), HasSubstr("at most an hour"));
  EXPECT_THAT(problem("ledger:/nowhere"), HasSubstr("no ledger there"));
  EXPECT_THAT(problem(""), HasSubstr("expected measured"));
}

}  // namespace
}  // namespace orrery::live
