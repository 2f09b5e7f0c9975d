// SPDX-License-Identifier: Apache-2.0
#include "orrery/engine/external_pool.hpp"

#include <gtest/gtest.h>

namespace orrery::engine {
namespace {

constexpr Time kNow{Duration{1000}};

bool runs(ExternalPool& pool, std::uint32_t slot) {
  return pool.region().slot(slot).load() == SlotState::kRunning;
}

TEST(ExternalPool, LetsNobodyGoBeforeAllStandInTheQueue) {
  ExternalPool pool{2, 1, true};
  pool.resume(0, kNow, kNow, 0);
  EXPECT_FALSE(runs(pool, 0));
  pool.resume(1, kNow, kNow, 0);
  pool.fill_places();
  EXPECT_TRUE(runs(pool, 0));
  EXPECT_FALSE(runs(pool, 1)) << "there is one place";
  pool.region().post(0, false);
  EXPECT_TRUE(runs(pool, 1)) << "the place is passed on without the host";
}

TEST(ExternalPool, LetsGoAtOnceWhileThereIsOtherWork) {
  for (const bool is_passing_on : {true, false}) {
    ExternalPool pool{1, 1, is_passing_on};
    pool.resume(0, kNow, kNow + Duration{1}, 0);
    EXPECT_TRUE(runs(pool, 0));
  }
}

}  // namespace
}  // namespace orrery::engine
