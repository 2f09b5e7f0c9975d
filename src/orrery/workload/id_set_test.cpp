// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/id_set.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <set>

#include "orrery/base/rng.hpp"

namespace orrery::workload {
namespace {

TEST(IdSet, SaysWhatAPlainSetSays) {
  Rng rng{7, "ids"};
  IdSet ids;
  std::set<std::uint64_t> plain;
  for (int i = 0; i < 3000; ++i) {
    const auto id = static_cast<std::uint64_t>(rng.between(0, 999));
    EXPECT_EQ(ids.insert(id), plain.insert(id).second);
    const auto other = static_cast<std::uint64_t>(rng.between(0, 1000));
    EXPECT_EQ(ids.contains(other), plain.contains(other));
  }
}

TEST(IdSet, RunsTakeOneInterval) {
  IdSet ids;
  for (std::uint64_t id = 100; id < 200; id += 2) ids.insert(id);
  EXPECT_EQ(ids.intervals(), 50U);
  for (std::uint64_t id = 101; id < 200; id += 2) ids.insert(id);
  EXPECT_EQ(ids.intervals(), 1U);
}

TEST(IdSet, TheEndsOfTheRange) {
  IdSet ids;
  constexpr std::uint64_t kLast = std::numeric_limits<std::uint64_t>::max();
  EXPECT_TRUE(ids.insert(kLast));
  EXPECT_TRUE(ids.insert(0));
  EXPECT_TRUE(ids.insert(kLast - 1));
  EXPECT_FALSE(ids.insert(kLast));
  EXPECT_TRUE(ids.contains(0) && ids.contains(kLast) && !ids.contains(1));
  EXPECT_EQ(ids.intervals(), 2U);
}

}  // namespace
}  // namespace orrery::workload
