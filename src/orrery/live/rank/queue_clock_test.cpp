// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/queue_clock.hpp"

#include <gtest/gtest.h>

namespace orrery::live {
namespace {

TEST(QueueClock, OneMeasuredQueueIsPlainCharging) {
  QueueClock clock;
  std::int64_t plain = 0;
  for (std::int64_t i = 1; i < 200; ++i) {
    const std::int64_t host = i * 7 % 13;
    const std::int64_t device = i % 3 == 0 ? 0 : i * 11 % 29;
    clock.charge(host, device);
    plain += host + device;
    EXPECT_EQ(clock.ready(), plain);
    if (i % 17 == 0) clock.await(0, plain += 5);  // A collective ended five later.
    if (i % 10 == 0) clock.reach(clock.ready());  // synchronize().
    EXPECT_LE(clock.host(), plain);
  }
  clock.reach(clock.end_of_all());
  EXPECT_EQ(clock.host(), plain);
}

TEST(QueueClock, PythonDelaysNoSideQueue) {
  QueueClock clock;
  clock.charge(0, 100);
  clock.select(1);
  clock.charge(5, 30);
  EXPECT_EQ(clock.end_of(1), 35);
  clock.charge(7, 0);  // The way back to the default queue.
  EXPECT_EQ(clock.end_of(1), 35);
  EXPECT_EQ(clock.host(), 12);
  clock.select(std::uint64_t{1} << 32);  // Another device's default queue.
  clock.charge(1, 2);
  EXPECT_EQ(clock.ready(), 15);
}

TEST(QueueClock, LaunchesRunAheadOfTheDevice) {
  QueueClock clock;
  for (int i = 0; i < 4; ++i) clock.launch(2, 10);
  EXPECT_EQ(clock.host(), 8);
  EXPECT_EQ(clock.ready(), 42);  // The first begins at 2.
}

TEST(QueueClock, ASlowHostStarvesTheDevice) {
  QueueClock clock;
  for (int i = 0; i < 4; ++i) clock.launch(10, 2);
  EXPECT_EQ(clock.host(), 40);
  EXPECT_EQ(clock.ready(), 42);
}

TEST(QueueClock, SideQueuesOverlap) {
  QueueClock clock;
  clock.launch(1, 100);
  clock.select(1);
  clock.launch(1, 30);
  EXPECT_EQ(clock.end_of(0), 101);
  EXPECT_EQ(clock.end_of(1), 32);
  clock.await(1, clock.end_of(0));  // wait_stream().
  clock.launch(1, 30);
  EXPECT_EQ(clock.end_of(1), 131);
  EXPECT_EQ(clock.host(), 3);
  clock.reach(clock.end_of(0));
  EXPECT_EQ(clock.host(), 101);
  EXPECT_EQ(clock.end_of_all(), 131);
}

TEST(QueueClock, AnIdleQueueIsAsFarAsTheHost) {
  QueueClock clock;
  clock.launch(5, 0);
  EXPECT_EQ(clock.end_of(7), 5);
  clock.await(7, 3);
  EXPECT_EQ(clock.end_of(7), 5);
}

}  // namespace
}  // namespace orrery::live
