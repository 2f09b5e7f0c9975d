// SPDX-License-Identifier: Apache-2.0
#include "orrery/engine/engine.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

#include "orrery/base/rng.hpp"

namespace orrery::engine {
namespace {

using namespace std::chrono_literals;

class Log final : public Handler {
 public:
  void on_event(std::uint64_t payload) override { seen.push_back(payload); }
  std::vector<std::uint64_t> seen;
};

TEST(Engine, OrdersByTimeThenPhaseThenOrigin) {
  Engine engine;
  const OriginId a = engine.add_origin("a");
  const OriginId b = engine.add_origin("b");
  Log log;
  engine.schedule(Time{2ns}, Phase::kArrival, a, log, 4);
  engine.schedule(Time{1ns}, Phase::kWake, a, log, 3);
  engine.schedule(Time{1ns}, Phase::kArrival, b, log, 2);
  engine.schedule(Time{1ns}, Phase::kArrival, a, log, 1);
  engine.schedule(Time{1ns}, Phase::kLinkChange, b, log, 0);
  engine.run();
  EXPECT_THAT(log.seen, testing::ElementsAre(0, 1, 2, 3, 4));
  EXPECT_EQ(engine.now(), Time{2ns});
}

/// Schedules the same events, inserted in an order that `shuffle` decides.
std::uint64_t digest_of(QueueKind queue, std::uint64_t shuffle) {
  constexpr int kOrigins = 40;
  constexpr int kEvents = 300;
  Engine engine{{.queue = queue}};
  Log log;
  for (int i = 0; i < kOrigins; ++i) engine.add_origin("o" + std::to_string(i));
  std::vector<std::uint32_t> turns;
  for (std::uint32_t i = 0; i < kOrigins; ++i) turns.insert(turns.end(), kEvents, i);
  Rng order{shuffle, "shuffle"};
  for (std::size_t i = turns.size() - 1; i > 0; --i) {
    std::swap(turns[i], turns[static_cast<std::size_t>(order.between(0, static_cast<std::int64_t>(i)))]);
  }
  std::vector<Rng> streams;
  for (int i = 0; i < kOrigins; ++i) streams.emplace_back(7, "o" + std::to_string(i));
  for (const std::uint32_t origin : turns) {
    const Time at{Duration{streams[origin].between(1, 500)}};
    const auto phase = static_cast<Phase>(streams[origin].between(0, 4));
    engine.schedule(at, phase, OriginId{origin}, log, origin);
  }
  engine.run();
  return engine.digest();
}

TEST(Engine, DigestDoesNotDependOnQueueOrInsertionOrder) {
  const std::uint64_t expected = digest_of(QueueKind::kRadix, 1);
  for (const QueueKind queue : {QueueKind::kAuto, QueueKind::kRadix, QueueKind::kDary}) {
    for (std::uint64_t shuffle = 1; shuffle < 6; ++shuffle) EXPECT_EQ(digest_of(queue, shuffle), expected);
  }
}

class Chain final : public Handler {
 public:
  Chain(Engine& engine, OriginId origin, int left) : engine_{engine}, origin_{origin}, left_{left} {}
  void on_event(std::uint64_t) override {
    if (left_-- > 0) engine_.schedule(engine_.now(), Phase::kLinkChange, origin_, *this, 0);
  }

 private:
  Engine& engine_;
  OriginId origin_;
  int left_;
};

TEST(Engine, EventsForNowRunInALaterRound) {
  Engine engine;
  const OriginId origin = engine.add_origin("chain");
  Chain chain{engine, origin, 100};
  engine.schedule(Time{5ns}, Phase::kWake, origin, chain, 0);
  engine.run();
  EXPECT_EQ(engine.executed(), 101U);
}

TEST(Engine, LivelockIsNamed) {
  Engine engine{{.rounds_per_instant = 1000}};
  const OriginId origin = engine.add_origin("rank 7");
  Chain chain{engine, origin, 1'000'000};
  engine.schedule(Time{5ns}, Phase::kWake, origin, chain, 0);
  try {
    engine.run();
    FAIL() << "no livelock found";
  } catch (const SimulationError& error) {
    EXPECT_STREQ(error.what(), "livelock at 5ns: 1000 rounds without the clock moving; still active: rank 7");
  }
}

TEST(Engine, InsertingLateIsABug) {
  Engine engine;
  const OriginId origin = engine.add_origin("late");
  class Late final : public Handler {
   public:
    Late(Engine& engine, OriginId origin) : engine_{engine}, origin_{origin} {}
    void on_event(std::uint64_t) override { engine_.schedule(Time{1ns}, Phase::kWake, origin_, *this, 0); }
    Engine& engine_;
    OriginId origin_;
  } late{engine, origin};
  engine.schedule(Time{5ns}, Phase::kWake, origin, late, 0);
  EXPECT_THROW(engine.run(), Bug);
}

class Stuck final : public Watch {
 public:
  void report_blocked(std::vector<Blocked>& blocked) const override {
    blocked.push_back({"rank 0", "receive 8 bytes from rank 1, tag 3", {"rank 1"}});
    blocked.push_back({"rank 1", "receive 8 bytes from rank 0, tag 4", {"rank 0"}});
  }
};

TEST(Engine, DeadlockNamesTheCycle) {
  Engine engine;
  const Stuck stuck;
  engine.add_watch(stuck);
  try {
    engine.run();
    FAIL() << "no deadlock found";
  } catch (const SimulationError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("rank 1 waits: receive 8 bytes from rank 0, tag 4"));
    EXPECT_THAT(error.what(), testing::HasSubstr("cycle: rank 0 -> rank 1 -> rank 0"));
  }
}

class Settled final : public Settler {
 public:
  void settle() override { ++count; }
  int count = 0;
};

TEST(Engine, DeadlinesHappenInTimeButKeepNothingGoing) {
  Engine engine;
  const OriginId a = engine.add_origin("a");
  Log log;
  engine.schedule(Time{5ns}, Phase::kArrival, a, log, 5);
  engine.schedule_deadline(Time{9ns}, Phase::kWake, a, log, 9);
  engine.schedule_deadline(Time{5ns}, Phase::kWake, a, log, 6);
  engine.schedule_deadline(Time{2ns}, Phase::kWake, a, log, 2);
  engine.run();
  EXPECT_THAT(log.seen, testing::ElementsAre(2, 5, 6));
  EXPECT_EQ(engine.now(), Time{5ns});
}

TEST(Engine, DeadlinesThatSomebodyWaitsForKeepTheRunGoing) {
  Engine engine;
  const OriginId a = engine.add_origin("a");
  Log log;
  class LetsGo final : public Handler {
   public:
    explicit LetsGo(Engine& engine) : engine_{engine} {}
    void on_event(std::uint64_t) override { engine_.let_go(); }
    Engine& engine_;
  } lets_go{engine};
  engine.hold_for_deadline();
  engine.schedule_deadline(Time{2ns}, Phase::kWake, a, log, 2);
  engine.schedule_deadline(Time{5ns}, Phase::kWake, a, lets_go, 0);
  engine.schedule_deadline(Time{9ns}, Phase::kWake, a, log, 9);
  engine.run();
  EXPECT_THAT(log.seen, testing::ElementsAre(2));
  EXPECT_EQ(engine.now(), Time{5ns});
}

TEST(Engine, WaitsForNoDeadlineThatIsNotThere) {
  Engine engine;
  engine.hold_for_deadline();
  engine.run();
  EXPECT_EQ(engine.now(), Time{});
}

TEST(Engine, WhatIsLeftWhenAllAreThroughIsNoDeadlock) {
  class Waits final : public Watch {
   public:
    void report_blocked(std::vector<Blocked>& blocked) const override { blocked.push_back({"network", "a link", {}}); }
  } waits;
  for (const bool is_dismissed : {false, true}) {
    Engine engine;
    engine.add_watch(waits);
    if (is_dismissed) engine.dismiss();
    if (is_dismissed) {
      EXPECT_NO_THROW(engine.run());
    } else {
      EXPECT_THROW(engine.run(), SimulationError);
    }
  }
}

TEST(Engine, SettlesOncePerInstant) {
  Engine engine;
  const OriginId origin = engine.add_origin("model");
  Settled settled;
  class Asks final : public Handler {
   public:
    Asks(Engine& engine, Settler& settler) : engine_{engine}, settler_{settler} {}
    void on_event(std::uint64_t) override { engine_.ask_to_settle(settler_); }
    Engine& engine_;
    Settler& settler_;
  } asks{engine, settled};
  for (int i = 0; i < 10; ++i) engine.schedule(Time{Duration{i % 2 + 1}}, Phase::kWake, origin, asks, 0);
  engine.run();
  EXPECT_EQ(settled.count, 2);
}

}  // namespace
}  // namespace orrery::engine
