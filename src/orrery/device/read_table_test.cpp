// SPDX-License-Identifier: Apache-2.0
#include "orrery/device/read_table.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.hpp"

namespace orrery::device {
namespace {

constexpr const char* kHeader = "# made by hand\noperator,dtype,sizes,time\n";

std::string problem_of(const std::string& lines) {
  try {
    static_cast<void>(parse_table(lines, "table.csv"));
  } catch (const InputError& error) {
    return error.what();
  }
  return {};
}

TEST(ReadTable, SeriesAreByOperatorAndType) {
  const OperatorTable table = parse_table(
      std::string{kHeader} + "gemm,bf16,1x2x3x4,14.5us\ngemm,fp32,1x2x3x4,20us\n\nadd,fp32,100,1us\n",
      "table.csv");
  ASSERT_EQ(table.series().size(), 3U);
  const Series* const gemm = table.find("gemm", DataType::kBf16);
  ASSERT_NE(gemm, nullptr);
  EXPECT_EQ(gemm->kind, OperatorClass::kGemm);
  EXPECT_EQ(gemm->points.front().axes, (Axes{.sizes = {1, 2, 3, 4}, .count = 4}));
  EXPECT_EQ(gemm->points.front().duration_ps, 14'500'000);
  EXPECT_EQ(table.find("add", DataType::kFp32)->kind, OperatorClass::kElementwise);
  EXPECT_EQ(table.find("add", DataType::kBf16), nullptr);
}

TEST(ReadTable, EveryMistakeIsNamed) {
  using testing::HasSubstr;
  const std::string header = kHeader;
  EXPECT_THAT(problem_of("gemm,bf16,1x2x3x4,1us\n"),
              HasSubstr("table.csv:1:1: 'gemm,bf16,1x2x3x4,1us': expected the header"));
  EXPECT_THAT(problem_of(header), HasSubstr("no profiled operators"));
  EXPECT_THAT(problem_of(header + "gemm,bf17,1x2x3x4,1us\n"),
              HasSubstr("table.csv:3:1: dtype: 'bf17': expected one of: fp64"));
  EXPECT_THAT(problem_of(header + "gemm,bf17,1x2x3x4,1us\n"), HasSubstr("bf16"));
  EXPECT_THAT(problem_of(header + "gemm,bf16,1x2x3,1us\n"), HasSubstr("expected 4 sizes for gemm"));
  EXPECT_THAT(problem_of(header + "gemm,bf16,1x2x0x3,1us\n"), HasSubstr("sizes: '1x2x0x3'"));
  EXPECT_THAT(problem_of(header + "gemm,bf16,1x2x3x4,1\n"), HasSubstr("time: '1': expected a time"));
  EXPECT_THAT(problem_of(header + "gemm,bf16,1x2x3x4,-1us\n"), HasSubstr("time"));
  EXPECT_THAT(problem_of(header + "gemm,bf16,1x2x3x4\n"), HasSubstr("expected 'operator,dtype,sizes,time'"));
  EXPECT_THAT(problem_of(header + "add,fp32,8,1us\nadd,fp32,8x8,1us\n"), HasSubstr("table.csv:4"));
}

}  // namespace
}  // namespace orrery::device
