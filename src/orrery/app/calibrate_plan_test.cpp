// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/calibrate_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <vector>

namespace orrery::app {
namespace {

std::map<std::string, std::vector<std::int64_t>> fitted(std::int64_t ranks, const std::string& link = "") {
  CalibrateOptions options;
  options.what = "collectives";
  options.ranks = ranks;
  options.link = link;
  std::map<std::string, std::vector<std::int64_t>> sizes;
  for (const Probe& probe : plan_probes(options)) {
    if (!probe.is_held_out && probe.bytes > 0) sizes[probe.operation].push_back(point_of(probe, ranks).size);
  }
  return sizes;
}

TEST(CalibratePlan, SizesStandOnBothSidesOfMallocsStep) {
  constexpr std::int64_t kStep = 1 << 25;
  constexpr std::int64_t kNear = kStep / 500;
  for (const std::int64_t ranks : {2, 3, 8}) {
    for (const auto& [operation, sizes] : fitted(ranks)) {
      EXPECT_TRUE(std::ranges::is_sorted(sizes)) << operation;
      const auto above = std::ranges::lower_bound(sizes, kStep);
      ASSERT_NE(above, sizes.begin()) << operation;
      ASSERT_NE(above, sizes.end()) << operation;
      EXPECT_LT(*above - *(above - 1), kNear) << operation << " of " << ranks;
    }
  }
}

TEST(CalibratePlan, LargerCostsLieOnALineThroughSizesFarApart) {
  for (const char* link : {"", "1Gbps", "200Mbps"}) {
    for (const std::int64_t ranks : {2, 3, 8}) {
      for (const auto& [operation, sizes] : fitted(ranks, link)) {
        ASSERT_GE(sizes.size(), 3U) << operation << link;
        EXPECT_GT(sizes.back(), sizes.at(sizes.size() - 2) * 5 / 4) << operation << link << ranks;
      }
    }
  }
}

}  // namespace
}  // namespace orrery::app
