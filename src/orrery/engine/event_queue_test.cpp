// SPDX-License-Identifier: Apache-2.0
// Goal: both pending sets keep one contract. Method: random pushes and pops against a sorted reference.
#include "orrery/engine/event_queue.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <map>

#include "orrery/base/rng.hpp"

namespace orrery::engine {
namespace {

class EventQueueTest : public testing::TestWithParam<std::unique_ptr<EventQueue> (*)()> {};

TEST_P(EventQueueTest, HandsOutWholeInstantsInOrder) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng rng{seed, "queue"};
    const std::unique_ptr<EventQueue> queue = GetParam()();
    std::map<std::int64_t, std::vector<std::uint64_t>> reference;
    std::int64_t now = 0;
    std::uint64_t next = 0;
    const int spread = static_cast<int>(rng.between(1, 50));
    for (int step = 0; step < 2000; ++step) {
      const std::int64_t pushes = rng.between(0, reference.empty() ? 3 : 2);
      for (std::int64_t i = 0; i < pushes; ++i) {
        const std::int64_t delay =
            rng.between(0, 1) == 0 ? rng.between(0, 3) : rng.between(0, std::int64_t{1} << spread);
        reference[now + delay].push_back(next);
        queue->push({now + delay, next++, nullptr, 0});
      }
      if (reference.empty() || rng.between(0, 1) == 0) continue;
      ASSERT_EQ(queue->next_time(), reference.begin()->first);
      std::vector<Event> got;
      queue->pop_instant(got);
      std::vector<std::uint64_t> orders;
      for (const Event& event : got) {
        EXPECT_EQ(event.time, reference.begin()->first);
        orders.push_back(event.order);
      }
      std::ranges::sort(orders);
      ASSERT_EQ(orders, reference.begin()->second);
      now = reference.begin()->first;
      reference.erase(reference.begin());
    }
    std::size_t left = 0;
    for (const auto& [time, events] : reference) left += events.size();
    EXPECT_EQ(queue->size(), left);
  }
}

TEST_P(EventQueueTest, EmptyHasNoNextTime) {
  EXPECT_EQ(GetParam()()->next_time(), std::numeric_limits<std::int64_t>::max());
}

INSTANTIATE_TEST_SUITE_P(Both, EventQueueTest, testing::Values(&make_radix_heap, &make_dary_heap));

}  // namespace
}  // namespace orrery::engine
