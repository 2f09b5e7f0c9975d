// SPDX-License-Identifier: Apache-2.0
#include "orrery/device/cost_model.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace orrery::device {
namespace {

constexpr std::size_t kBf16 = static_cast<std::size_t>(DataType::kBf16);

/// 1 Tflop/s, 1 GB/s: an operation takes a picosecond, a byte a thousand.
Rates plain_rates() {
  Rates rates;
  rates.peak.fill(1e12);
  rates.bandwidth = 1e9;
  return rates;
}

Operator elementwise(std::int64_t elements) {
  Operator op;
  op.name = op.family = "add";
  op.kind = OperatorClass::kElementwise;
  op.axes.sizes[0] = elements;
  op.axes.count = 1;
  op.work.bytes = static_cast<double>(3 * 4 * elements);
  op.output_bytes = static_cast<double>(4 * elements);
  return op;
}

TEST(Roofline, TheSlowerOfComputingAndMoving) {
  EXPECT_DOUBLE_EQ(roofline_ps({.flops = 5000, .bytes = 3}, 1e12, 1e9), 5000);
  EXPECT_DOUBLE_EQ(roofline_ps({.flops = 2000, .bytes = 3}, 1e12, 1e9), 3000);
  EXPECT_DOUBLE_EQ(roofline_ps({.flops = 2000, .bytes = 3}, 1e12, 0), 2000);
}

TEST(Roofline, EfficienciesAreByClassAndPeaksByType) {
  Rates rates = plain_rates();
  rates.compute_efficiency[static_cast<std::size_t>(OperatorClass::kGemm)] = 0.5;
  rates.peak[kBf16] = 4e12;
  const Work work{.flops = 8000, .bytes = 0};
  EXPECT_DOUBLE_EQ(roofline_ps(work, OperatorClass::kGemm, DataType::kFp32, rates), 16000);
  EXPECT_DOUBLE_EQ(roofline_ps(work, OperatorClass::kGemm, DataType::kBf16, rates), 4000);
  EXPECT_DOUBLE_EQ(roofline_ps(work, OperatorClass::kConvolution, DataType::kFp32, rates), 8000);
}

TEST(Roofline, WhatFitsTheCacheRunsAtItsBandwidth) {
  Rates rates = plain_rates();
  rates.cache = 100;
  rates.cache_bandwidth = 10e9;
  EXPECT_DOUBLE_EQ(roofline_ps({.flops = 0, .bytes = 100}, OperatorClass::kMemory, DataType::kFp32, rates),
                   10'000);
  EXPECT_DOUBLE_EQ(roofline_ps({.flops = 0, .bytes = 101}, OperatorClass::kMemory, DataType::kFp32, rates),
                   101'000);
}

TEST(CostModel, LaunchAndHostOverheadsAreAdded) {
  Rates rates = plain_rates();
  rates.launch_ps = 7;
  rates.host_ps = 11;
  CostModel model{rates, {}};
  const Cost cost = model.cost(elementwise(10));
  EXPECT_EQ(cost.device_ps, 120'000 + 7);
  EXPECT_EQ(cost.host_ps, 11);
  EXPECT_EQ(cost.source, CostSource::kRoofline);
}

TEST(CostModel, AViewIsADispatchAndAWaitWaits) {
  Rates rates = plain_rates();
  rates.launch_ps = 7;
  rates.host_ps = 11;
  CostModel model{rates, {}};
  Operator op;
  op.kind = OperatorClass::kView;
  EXPECT_EQ(model.cost(op).device_ps, 0);
  EXPECT_EQ(model.cost(op).host_ps, 11);
  EXPECT_FALSE(model.cost(op).waits);
  op.kind = OperatorClass::kWait;
  EXPECT_TRUE(model.cost(op).waits);
}

TEST(CostModel, FusesOnlyWhereTheDeviceDoes) {
  Rates rates = plain_rates();
  rates.launch_ps = 7;
  CostModel eager{rates, {}};
  rates.fuses = true;
  CostModel fusing{rates, {}};
  for (CostModel* model : {&eager, &fusing}) EXPECT_EQ(model->cost(elementwise(10)).device_ps, 120'007);
  EXPECT_EQ(eager.cost(elementwise(10)).device_ps, 120'007);
  EXPECT_EQ(fusing.cost(elementwise(10)).device_ps, 40'000);   // One more input; no launch.
  EXPECT_EQ(fusing.cost(elementwise(20)).device_ps, 240'007);  // Another shape is another kernel.
}

TEST(CostModel, ListsAreOneLaunchOnAGpuAndOneEachElsewhere) {
  Rates rates = plain_rates();
  rates.launch_ps = 7;
  Operator op = elementwise(10);
  op.kind = OperatorClass::kOptimizer;
  op.launches = 5;
  CostModel host{rates, {}};
  EXPECT_EQ(host.cost(op).device_ps, 120'000 + 35);
  rates.is_asynchronous = true;
  CostModel gpu{rates, {}};
  EXPECT_EQ(gpu.cost(op).device_ps, 120'000 + 7);
}

TEST(CostModel, TheTableComesFirst) {
  OperatorTable table;
  table.add("add", DataType::kFp32, OperatorClass::kElementwise,
            {.axes = {.sizes = {10}, .count = 1}, .duration_ps = 55});
  CostModel model{plain_rates(), table};
  EXPECT_EQ(model.cost(elementwise(10)).source, CostSource::kTable);
  EXPECT_EQ(model.cost(elementwise(1000)).source, CostSource::kExtrapolated);
  Operator other = elementwise(10);
  other.type = DataType::kBf16;
  EXPECT_EQ(model.cost(other).source, CostSource::kRoofline);
}

TEST(CostModel, AnImageGivesTheSameCosts) {
  OperatorTable table;
  for (const std::int64_t size : {1, 8, 64, 4096}) {
    table.add(
        "add", DataType::kFp32, OperatorClass::kElementwise,
        {.axes = {.sizes = {size}, .count = 1}, .duration_ps = 100.0 + 3.5 * static_cast<double>(size)});
  }
  CostModel model{plain_rates(), table};
  const std::string image = model.to_image();
  CostModel read = CostModel::from_image(image);
  for (const std::int64_t size : {1, 3, 8, 100, 5000}) {
    EXPECT_EQ(model.cost(elementwise(size)).device_ps, read.cost(elementwise(size)).device_ps) << size;
  }
  EXPECT_EQ(read.to_image(), image);
  for (std::size_t cut = 0; cut < image.size(); cut += 13) {
    EXPECT_THROW(static_cast<void>(CostModel::from_image(image.substr(0, cut))), std::length_error) << cut;
  }
}

}  // namespace
}  // namespace orrery::device
