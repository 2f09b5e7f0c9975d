// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/operation_costs.hpp"

#include <gtest/gtest.h>

namespace orrery::topology {
namespace {

using namespace std::chrono_literals;

TEST(OperationCosts, StraightLinesBetweenPoints) {
  const CostCurve curve{{Bytes{1000}, 10us}, {Bytes{3000}, 30us}, {Bytes{4000}, 20us}, {Bytes{5000}, 40us}};
  EXPECT_EQ(cost_at(curve, Bytes{0}), Duration{10us});
  EXPECT_EQ(cost_at(curve, Bytes{1000}), Duration{10us});
  EXPECT_EQ(cost_at(curve, Bytes{2000}), Duration{20us});
  EXPECT_EQ(cost_at(curve, Bytes{3500}), Duration{25us});
  EXPECT_EQ(cost_at(curve, Bytes{5000}), Duration{40us});
  EXPECT_EQ(cost_at(curve, Bytes{6000}), Duration{60us});  // The last slope goes on.
}

TEST(OperationCosts, NeverFallsBeyondTheLastPoint) {
  const CostCurve curve{{Bytes{1000}, 30us}, {Bytes{2000}, 10us}};
  EXPECT_EQ(cost_at(curve, Bytes{4000}), Duration{10us});
}

TEST(OperationCosts, FewPoints) {
  EXPECT_EQ(cost_at({}, Bytes{5}), Duration{});
  EXPECT_EQ(cost_at({{Bytes{1000}, 7us}}, Bytes{1 << 20}), Duration{7us});
}

TEST(WakeCosts, StraightLinesBetweenPointsAndFlatBeyond) {
  const WakeCurve curve{{1ms, 0us}, {3ms, 40us}, {10ms, 50us}};
  EXPECT_EQ(wake_at(curve, 0ms), Duration{0us});
  EXPECT_EQ(wake_at(curve, 1ms), Duration{0us});
  EXPECT_EQ(wake_at(curve, 2ms), Duration{20us});
  EXPECT_EQ(wake_at(curve, 3ms), Duration{40us});
  EXPECT_EQ(wake_at(curve, 10ms), Duration{50us});
  EXPECT_EQ(wake_at(curve, 1s), Duration{50us});
  EXPECT_EQ(wake_at({}, 1s), Duration{});
  const WakeCurve cold{{1ms, 0us, 0us}, {3ms, 40us, 100us}};
  EXPECT_EQ(wake_at(cold, 3ms, Bytes{1 << 19}), Duration{90us});
  EXPECT_EQ(wake_at(cold, 2ms, Bytes{1 << 20}), Duration{70us});
  EXPECT_EQ(wake_at(cold, 1s, Bytes{1 << 30}), Duration{440us}) << "more is in no cache anyway";
  EXPECT_EQ(wake_at({{1ms, 7us}}, 1s), Duration{7us});
}

TEST(OperationCosts, CurvesByName) {
  OperationCosts costs;
  find_curve(costs, "all_gather")->push_back({Bytes{1}, 1us});
  EXPECT_EQ(costs.all_gather.size(), 1);
  EXPECT_EQ(find_curve(costs, "all_gathr"), nullptr);
}

}  // namespace
}  // namespace orrery::topology
