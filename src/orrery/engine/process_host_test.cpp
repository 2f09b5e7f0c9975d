// SPDX-License-Identifier: Apache-2.0
// Goal: each clause of the contract (docs/process-contract.md) by itself; process_equivalence_test.cpp has them
// all at once.
#include "orrery/engine/process_host.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "orrery/engine/external_threads.hpp"

namespace orrery::engine {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;

/// Calls take as long as their first argument says; kNever is never answered.
class Sleeper final : public Service, public Handler {
 public:
  static constexpr std::uint32_t kSleep = 0;
  static constexpr std::uint32_t kNever = 1;

  explicit Sleeper(const HostOptions& options = {}) : host{engine, *this, options} {}

  void handle(ProcessId process, const Call& call) override {
    log.push_back(fmt::format("{} asks at {}", host.name(process), count_ps(engine.now())));
    if (call.operation == kNever) return;
    engine.schedule(engine.now() + Duration{call.arguments[0]}, Phase::kCompletion, origin, *this,
                    process.value());
  }
  void on_event(std::uint64_t payload) override {
    host.answer(ProcessId{static_cast<std::uint32_t>(payload)}, count_ps(engine.now()));
  }
  void finished(ProcessId process) override {
    log.push_back(fmt::format("{} ends at {}", host.name(process), count_ps(engine.now())));
  }
  void describe(ProcessId /*process*/, Blocked& blocked) const override { blocked.what = "what never comes"; }

  /// What the run ended with.
  std::string run() {
    try {
      host.run();
    } catch (const std::exception& error) {
      return error.what();
    }
    return "";
  }

  Engine engine;
  OriginId origin = engine.add_origin("sleeper");
  std::vector<std::string> log;
  ProcessHost host;
};

Call sleep_for(std::int64_t picoseconds) { return {Sleeper::kSleep, {picoseconds}}; }

TEST(ProcessHost, ACallIsAnEventAtTheCallersOwnClock) {
  Sleeper sleeper;
  std::vector<std::int64_t> seen;
  sleeper.host.add_local("a", [&](LocalPort& port) -> Task<> {
    port.advance(Duration{100});
    seen.push_back(co_await port.call(sleep_for(7)));
    seen.push_back(count_ps(port.clock()));
    port.advance(Duration{3});
  });
  const ProcessId late = sleeper.host.add_local(
      "b", [&](LocalPort& port) -> Task<> { seen.push_back(co_await port.call(sleep_for(0))); },
      {.start = Time{50ns}});
  EXPECT_EQ(sleeper.host.finished_at(late), kTimeMax);
  EXPECT_EQ(sleeper.run(), "");
  EXPECT_THAT(sleeper.log,
              ElementsAre("a asks at 100", "a ends at 110", "b asks at 50000", "b ends at 50000"));
  EXPECT_THAT(seen, ElementsAre(107, 107, 50000));
  EXPECT_EQ(sleeper.host.finished_at(late), Time{50ns});
}

TEST(ProcessHost, AProcessThatFailsEndsTheRunAndItsFrameIsGone) {
  const auto resource = std::make_shared<int>(1);
  Sleeper sleeper;
  sleeper.host.add_local(
      "waits", [resource](LocalPort& port) -> Task<> { co_await port.call({Sleeper::kNever, {}}); });
  sleeper.host.add_local("fails", [resource](LocalPort& port) -> Task<> {
    const std::shared_ptr<int> held = resource;
    co_await port.call(sleep_for(1));
    throw SimulationError{"out of memory on fails"};
  });
  EXPECT_EQ(resource.use_count(), 3);
  EXPECT_EQ(sleeper.run(), "out of memory on fails");
  EXPECT_EQ(resource.use_count(), 3);  // The lambdas' copies; the frame's is gone.
}

TEST(ProcessHost, AnsweringNobodyIsABug) {
  Sleeper sleeper;
  const ProcessId id = sleeper.host.add_local("a", [](LocalPort&) -> Task<> { co_return; });
  EXPECT_THROW(sleeper.host.answer(id), Bug);
}

TEST(ProcessHost, ACallAtTheEndOfTimeIsReported) {
  Sleeper sleeper;
  sleeper.host.add_local("a", [](LocalPort& port) -> Task<> {
    port.advance(Duration::max());
    co_await port.call(sleep_for(1));
  });
  EXPECT_THAT(sleeper.run(), testing::HasSubstr("a waits: the end of time"));
}

TEST(ProcessHost, LocalAndExternalProcessesMix) {
  Sleeper sleeper{{.externals = 1}};
  ExternalThreads threads{sleeper.host};
  sleeper.host.add_local("local", [](LocalPort& port) -> Task<> {
    for (int i = 0; i < 3; ++i) co_await port.call(sleep_for(10));
  });
  threads.start(sleeper.host.add_external("thread"), [](ExternalPort& port) {
    port.advance(Duration{5});
    port.call(sleep_for(10));
  });
  EXPECT_EQ(sleeper.run(), "");
  EXPECT_THAT(sleeper.log, ElementsAre("local asks at 0", "thread asks at 5", "local asks at 10",
                                       "thread ends at 15", "local asks at 20", "local ends at 30"));
}

TEST(ProcessHost, PlacesAreGivenInTheOrderOfAnswersAndNeverTooMany) {
  constexpr std::uint32_t kProcesses = 6;
  for (const std::uint32_t concurrency : {1U, 2U, 8U}) {
    Sleeper sleeper{{.externals = kProcesses, .concurrency = concurrency}};
    std::atomic<std::uint32_t> running = 0;
    std::atomic<std::uint32_t> most = 0;
    std::vector<std::uint32_t> order;  // Only looked at when one runs at a time.
    {
      ExternalThreads threads{sleeper.host};
      for (std::uint32_t i = 0; i < kProcesses; ++i) {
        threads.start(sleeper.host.add_external(fmt::format("p{}", i)), [&, i](ExternalPort& port) {
          for (int step = 0; step < 20; ++step) {
            const std::uint32_t now = ++running;
            for (std::uint32_t seen = most; now > seen && !most.compare_exchange_weak(seen, now);) {
            }
            if (concurrency == 1) order.push_back(i);
            std::this_thread::yield();
            --running;
            port.call(sleep_for(10 * (kProcesses - i)));  // The last one comes back first.
          }
        });
      }
      EXPECT_EQ(sleeper.run(), "");
    }
    EXPECT_LE(most, concurrency);
    if (concurrency > 1) continue;
    ASSERT_EQ(order.size(), kProcesses * 20);
    order.resize(9);
    EXPECT_THAT(order, ElementsAre(0, 1, 2, 3, 4, 5, /*10:*/ 5, /*20:*/ 4, 5));
  }
}

TEST(ProcessHost, WithLookaheadTheClockGoesOnWhileAProcessRuns) {
  Sleeper sleeper{{.externals = 2, .concurrency = 2}};
  ExternalThreads threads{sleeper.host};
  std::promise<void> later_runs;
  std::future<void> is_later = later_runs.get_future();
  bool met = false;
  // Runs from 0 until the other one, which starts at 1 us, has been seen running too.
  threads.start(sleeper.host.add_external("far", {.start = {}, .lookahead = 10us}), [&](ExternalPort& port) {
    met = is_later.wait_for(20s) == std::future_status::ready;
    port.advance(10us);
    port.call(sleep_for(0));
    port.advance(10us);
  });
  threads.start(sleeper.host.add_external("near", {.start = Time{1us}}), [&](ExternalPort& port) {
    port.call(sleep_for(1'000'000));
    later_runs.set_value();
  });
  EXPECT_EQ(sleeper.run(), "");
  EXPECT_TRUE(met);
  EXPECT_THAT(sleeper.log, ElementsAre("near asks at 1000000", "near ends at 2000000", "far asks at 10000000",
                                       "far ends at 20000000"));
}

TEST(ProcessHost, ABrokenPromiseIsAnError) {
  const std::string expected =
      "hasty asks at 9ns, too early: resumed at 0ps, it promised a lookahead of 10ns";
  Sleeper local;
  local.host.add_local("hasty",
                       [](LocalPort& port) -> Task<> {
                         port.advance(9ns);
                         co_await port.call(sleep_for(1));
                       },
                       {.start = {}, .lookahead = 10ns});
  EXPECT_EQ(local.run(), expected);

  Sleeper outside{{.externals = 1}};
  ExternalThreads threads{outside.host};
  threads.start(outside.host.add_external("hasty", {.start = {}, .lookahead = 10ns}), [](ExternalPort& port) {
    port.advance(9ns);
    port.call(sleep_for(1));
  });
  EXPECT_EQ(outside.run(), expected);
}

TEST(ProcessHost, EndingEarlyBreaksThePromiseToo) {
  Sleeper sleeper{{.externals = 1}};
  ExternalThreads threads{sleeper.host};
  threads.start(sleeper.host.add_external("hasty", {.start = Time{1ns}, .lookahead = 10ns}),
                [](ExternalPort&) {});
  EXPECT_EQ(sleeper.run(), "hasty ends at 1ns, too early: resumed at 1ns, it promised a lookahead of 10ns");
}

TEST(ProcessHost, AThreadThatThrowsIsNamed) {
  Sleeper sleeper{{.externals = 2}};
  ExternalThreads threads{sleeper.host};
  threads.start(sleeper.host.add_external("good"),
                [](ExternalPort& port) { port.call({Sleeper::kNever, {}}); });
  threads.start(sleeper.host.add_external("bad"), [](ExternalPort& port) {
    port.call(sleep_for(5000));
    throw std::runtime_error{"no such layer"};
  });
  EXPECT_EQ(sleeper.run(), "bad died at 5ns: no such layer");
}

TEST(ProcessHost, AnInterruptIsSeenWhileProgramsCompute) {
  Sleeper sleeper{{.externals = 1}};
  std::atomic<bool> wants_stop = false;
  const std::function<bool()> stop = [&] { return wants_stop.load(); };
  sleeper.engine.set_interrupt(&stop);
  std::promise<void> over;
  ExternalThreads threads{sleeper.host};
  threads.start(sleeper.host.add_external("busy"), [&, ready = over.get_future().share()](ExternalPort&) {
    wants_stop = true;
    sleeper.host.region().ring();  // As a signal would.
    ready.wait();
  });
  EXPECT_EQ(sleeper.run(), "interrupted");
  over.set_value();
}

TEST(ProcessHost, ACallerWhoIsNotOnTurnIsRefused) {
  Sleeper sleeper{{.externals = 1}};
  ExternalPort port{sleeper.host.region(), 0};
  EXPECT_THROW(port.call(sleep_for(1)), std::logic_error);
  EXPECT_THROW((ExternalPort{sleeper.host.region(), 1}), std::logic_error);
  EXPECT_THROW(port.advance(Duration{-1}), std::logic_error);
  sleeper.host.close();
  EXPECT_THROW(port.start(), PortClosed);
  EXPECT_THROW(port.call(sleep_for(1)), PortClosed);
}

}  // namespace
}  // namespace orrery::engine
