// SPDX-License-Identifier: Apache-2.0
#include "orrery/engine/task.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "orrery/engine/delay.hpp"

namespace orrery::engine {
namespace {

using namespace std::chrono_literals;

struct Fixture {
  Engine engine;
  OriginId origin = engine.add_origin("task");
  std::vector<std::string> log;

  auto sleep(Duration duration) { return delay(engine, origin, duration); }
  void note(const std::string& text) { log.push_back(fmt::format("{} at {}", text, count_ps(engine.now()))); }
};

Task<int> add_slowly(Fixture& f, int a, int b) {
  co_await f.sleep(Duration{10});
  co_return a + b;
}

Task<> add_twice(Fixture& f) {
  const int first = co_await add_slowly(f, 1, 2);
  f.note(std::to_string(first));
  const int second = co_await add_slowly(f, first, first);
  f.note(std::to_string(second));
}

TEST(Task, NestsAndReturnsValues) {
  Fixture f;
  Task<> task = add_twice(f);
  EXPECT_FALSE(task.is_done());
  task.start();
  f.engine.run();
  EXPECT_TRUE(task.is_done());
  EXPECT_THAT(f.log, testing::ElementsAre("3 at 10", "6 at 20"));
}

Task<> tick(Fixture& f, std::string name, Duration period, int count) {
  for (int i = 0; i < count; ++i) {
    co_await f.sleep(period);
    f.note(name);
  }
}

TEST(Task, TasksInterleaveByTheClock) {
  Fixture f;
  Task<> slow = tick(f, "slow", Duration{30}, 2);
  Task<> fast = tick(f, "fast", Duration{20}, 3);
  slow.start();
  fast.start();
  f.engine.run();
  // At 60 the one that asked first (at 30, not at 40) goes first: one origin keeps its order.
  EXPECT_THAT(f.log,
              testing::ElementsAre("fast at 20", "slow at 30", "fast at 40", "slow at 60", "fast at 60"));
}

Task<> fail_after(Fixture& f, Duration duration) {
  co_await f.sleep(duration);
  throw SimulationError{"the rank failed"};
}

Task<> catch_and_fail(Fixture& f) {
  try {
    co_await fail_after(f, Duration{5});
  } catch (const SimulationError&) {
    f.note("caught");
  }
  co_await fail_after(f, Duration{0});
}

TEST(Task, ExceptionsReachTheParentThenTheRun) {
  Fixture f;
  Task<> task = catch_and_fail(f);
  task.start();
  EXPECT_THROW(f.engine.run(), SimulationError);
  EXPECT_THAT(f.log, testing::ElementsAre("caught at 5"));
  EXPECT_TRUE(task.is_done());
}

Task<> hold(Fixture& f, std::shared_ptr<int> resource) {
  co_await f.sleep(Duration{5});
  f.note(std::to_string(*resource));
}

Task<> hold_nested(Fixture& f, std::shared_ptr<int> resource) { co_await hold(f, std::move(resource)); }

TEST(Task, FramesAreDestroyedInTheMiddle) {
  const auto resource = std::make_shared<int>(1);
  Fixture f;
  {
    Task<> unstarted = hold(f, resource);
    Task<> waiting = hold_nested(f, resource);
    waiting.start();
    Task<> moved = std::move(waiting);
    EXPECT_EQ(resource.use_count(), 3);
  }
  EXPECT_EQ(resource.use_count(), 1);
}

Task<int> one() { co_return 1; }

Task<> count_to(int limit, int& count) {
  while (count < limit) count += co_await one();
}

TEST(Task, AMillionTasksThatDoNotWaitNeedNoStack) {
  int count = 0;
  Task<> task = count_to(1'000'000, count);
  task.start();
  EXPECT_TRUE(task.is_done());
  EXPECT_EQ(count, 1'000'000);
}

Task<int> nest(Fixture& f, int depth) {
  if (depth == 0) {
    co_await f.sleep(Duration{1});
    co_return 0;
  }
  const int below = co_await nest(f, depth - 1);
  co_return below + 1;
}

Task<> nest_loop(Fixture& f) {
  for (int i = 0; i < 100; ++i) {
    const int depth = co_await nest(f, 50);
    EXPECT_EQ(depth, 50);
  }
  f.note("done");
}

TEST(Task, DeepNestingWaitsAtTheBottom) {
  Fixture f;
  Task<> task = nest_loop(f);
  task.start();
  f.engine.run();
  EXPECT_THAT(f.log, testing::ElementsAre("done at 100"));
}

}  // namespace
}  // namespace orrery::engine
