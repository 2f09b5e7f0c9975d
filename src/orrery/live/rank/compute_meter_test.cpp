// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/compute_meter.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace orrery::live {
namespace {

constexpr std::int64_t kUs = 1'000;  // Of the host's nanoseconds.
constexpr std::int64_t kPsPerUs = 1'000'000;
constexpr std::uint64_t kMatmul = 0x1234;
constexpr std::uint64_t kRelu = 0x5678;
constexpr std::uint64_t kClock = 1;
constexpr std::uint64_t kWait = 2;

// The host's clocks, as told by the test.
std::int64_t wall_ns = 0;
std::int64_t cpu_ns = 0;
std::int64_t loop_ns = 1000;

void compute(std::int64_t ns) {
  wall_ns += ns;
  cpu_ns += ns;
}
void preempt(std::int64_t ns) { wall_ns += ns; }

class Meter : public testing::Test {
 protected:
  Meter() {
    wall_ns = cpu_ns = 0;
    loop_ns = 1000;
  }
  static MeterOptions options(MeterMode mode = MeterMode::kMeasured, std::int64_t fixed_ps = 0) {
    MeterOptions made;
    made.mode = mode;
    made.fixed_ps = fixed_ps;
    made.clock = {.wall = [] { return wall_ns; },
                  .thread_cpu = [] { return cpu_ns; },
                  .reference_loop = [] { return loop_ns; }};
    return made;
  }
  static void run(ComputeMeter& meter, std::uint64_t key, std::int64_t ns) {
    meter.operator_begin(key);
    compute(ns);
    meter.operator_end();
  }
};

TEST_F(Meter, ChargesWhatIsNewAsMeasured) {
  ComputeMeter meter{options()};
  meter.begin();
  compute(20 * kUs);
  run(meter, kMatmul, 300 * kUs);
  compute(5 * kUs);
  EXPECT_EQ(meter.end(kWait), 325 * kPsPerUs);
}

TEST_F(Meter, ChargesKnownOperatorsByTheirLowEnd) {
  ComputeMeter meter{options()};
  std::int64_t last = 0;
  for (const std::int64_t took : {300, 330, 290, 600, 310}) {
    meter.begin();
    run(meter, kMatmul, took * kUs);
    last = meter.end(kWait);
  }
  EXPECT_EQ(last, 290 * kPsPerUs);
}

TEST_F(Meter, LooksAtTheCpuClockAgainOnlyAfterAWhile) {
  MeterOptions made = options();
  made.is_raw = true;
  made.clock.look_lasts = 20 * kUs;
  ComputeMeter meter{made};
  meter.begin();
  compute(12 * kUs);
  preempt(4 * kUs);
  EXPECT_EQ(meter.split(kWait), 16 * kPsPerUs) << "too short to tell";
  compute(12 * kUs);
  preempt(40 * kUs);
  EXPECT_EQ(meter.end(kWait), 8 * kPsPerUs) << "24 us of both";
  meter.begin();
  compute(5 * kUs);
  meter.pause();
  wall_ns += 30 * kUs;
  meter.begin();  // It slept, for however short a time.
  meter.resume();
  compute(7 * kUs);
  EXPECT_EQ(meter.end(kWait), 7 * kPsPerUs);
}

TEST_F(Meter, RawIsCpuTimeAsItWas) {
  MeterOptions made = options();
  made.is_raw = true;
  ComputeMeter meter{made};
  for (const std::int64_t took : {300, 900, 290, 600}) {
    meter.begin();
    run(meter, kMatmul, took * kUs);
    preempt(50 * kUs);
    EXPECT_EQ(meter.end(kWait), took * kPsPerUs);
  }
}

TEST_F(Meter, NeverChargesPreemption) {
  ComputeMeter meter{options()};
  meter.begin();
  meter.operator_begin(kMatmul);
  compute(100 * kUs);
  preempt(4000 * kUs);
  meter.operator_end();
  compute(10 * kUs);
  EXPECT_EQ(meter.end(kWait), 110 * kPsPerUs);
}

TEST_F(Meter, APreemptedKnownOperatorCostsWhatItAlwaysCosts) {
  ComputeMeter meter{options()};
  std::int64_t last = 0;
  for (int i = 0; i < 4; ++i) {
    meter.begin();
    meter.operator_begin(kMatmul);
    compute(100 * kUs);
    if (i == 3) preempt(4000 * kUs);
    meter.operator_end();
    last = meter.end(kWait);
  }
  EXPECT_EQ(last, 100 * kPsPerUs);
}

TEST_F(Meter, DoesNotHideMoreWorkBehindTheSameKey) {
  ComputeMeter meter{options()};
  meter.begin();
  meter.split(kClock);  // What comes first has no point before it, and so another key.
  std::vector<std::int64_t> charged;
  for (const std::int64_t took : {100, 110, 105, 900, 100}) {
    compute(took * kUs);
    charged.push_back(meter.split(kClock) / kPsPerUs);
  }
  EXPECT_EQ(charged, (std::vector<std::int64_t>{100, 100, 100, 900, 100}));
}

TEST_F(Meter, WorkBetweenTwoLooksAtAClockIsNotTakenForNoise) {
  ComputeMeter meter{options()};
  meter.begin();
  for (int i = 0; i < 5000; ++i) {  // Looks in a row.
    compute(70);
    meter.split(kClock);
  }
  std::int64_t charged = 0;
  for (int i = 0; i < 100; ++i) {
    compute(5 * kUs);
    charged += meter.split(kClock);
  }
  EXPECT_EQ(charged, 500 * kPsPerUs);
}

/// What the beginning and the second piece cost a rank of `program` that takes so long for them.
std::vector<std::int64_t> beginning(void* table, MeterOptions made, std::uint64_t program,
                                    std::int64_t first) {
  made.table = table;
  made.program = program;
  ComputeMeter meter{made};
  std::vector<std::int64_t> charged;
  meter.begin();
  for (const std::int64_t took : {first, std::int64_t{100}}) {
    compute(took * kUs);
    charged.push_back(meter.split(kClock) / kPsPerUs);
  }
  return charged;
}

TEST_F(Meter, TheBeginningOfAProgramIsKnownByItsOccasion) {
  alignas(64) static std::array<std::byte, KeyTable::kBytes> table{};
  using Charged = std::vector<std::int64_t>;
  for (const std::int64_t light : {300, 300, 300}) beginning(table.data(), options(), 7, light);
  EXPECT_EQ(beginning(table.data(), options(), 9, 2000), (Charged{2000, 100})) << "another program's";
  EXPECT_EQ(beginning(table.data(), options(), 9, 2100), (Charged{2000, 100}));
  EXPECT_EQ(beginning(table.data(), options(), 9, 4400), (Charged{2000, 100})) << "first-touched pages";
  EXPECT_EQ(beginning(table.data(), options(), 9, 9000), (Charged{9000, 100})) << "other work";
  EXPECT_EQ(beginning(table.data(), options(), 0, 4400), (Charged{4400, 100})) << "no program";
}

TEST_F(Meter, AnOperatorWhoseWorkDependsOnItsDataIsBelieved) {
  ComputeMeter meter{options()};
  std::int64_t last = 0;
  for (const std::int64_t took : {100, 100, 5000}) {
    meter.begin();
    run(meter, kMatmul, took * kUs);
    last = meter.end(kWait);
  }
  EXPECT_EQ(last, 5000 * kPsPerUs);
}

TEST_F(Meter, AHostThatStandsStillIsNotTheProgramsWork) {
  ComputeMeter meter{options()};
  const auto charged = [&](std::int64_t glue, std::int64_t took) {
    meter.begin();
    compute(glue * kUs);
    run(meter, kMatmul, took * kUs);
    return meter.end(kWait) / kPsPerUs;
  };
  for (int i = 0; i < 2048; ++i) charged(10, 100);
  EXPECT_EQ(charged(10, 4000), 110) << "once in 2048";
  EXPECT_EQ(charged(4000, 100), 110) << "glue, too";
  EXPECT_EQ(charged(40000, 100), 40100) << "but long glue may be anything";
  EXPECT_EQ(charged(10, 200000), 200010) << "and so may a long operator";
  for (int i = 0; i < 64; ++i) charged(10, 4000);
  EXPECT_EQ(charged(10, 4000), 4010) << "too often to be the host";
}

TEST_F(Meter, AProcesssFirstOfAKindIsBelieved) {
  alignas(64) static std::array<std::byte, KeyTable::kBytes> table{};
  MeterOptions made = options();
  made.table = table.data();
  for (const std::int64_t first : {100, 2000}) {
    ComputeMeter meter{made};
    std::int64_t charged = 0;
    for (int i = 0; i < 200; ++i) {
      meter.begin();
      run(meter, kMatmul, (i == 0 ? first : 100) * kUs);
      charged += meter.end(kWait) / kPsPerUs;
    }
    EXPECT_EQ(charged, 199 * 100 + first);
  }
}

TEST_F(Meter, NewWorkOnASlowHostIsChargedAsOnAFastOne) {
  ComputeMeter meter{options()};
  meter.begin();
  meter.end(kWait);  // The host at its best.
  loop_ns = 2000;
  for (int i = 0; i < 3; ++i) {
    compute(10'000 * kUs);
    meter.begin();
    meter.end(kWait);
  }
  meter.begin();
  run(meter, kMatmul, 800 * kUs);
  EXPECT_EQ(meter.end(kWait), 400 * kPsPerUs);
}

TEST_F(Meter, OnlyOutermostOperatorsCount) {
  ComputeMeter meter{options(MeterMode::kFixedOperator, 7 * kPsPerUs)};
  meter.begin();
  meter.operator_begin(kMatmul);
  run(meter, kRelu, 1);
  run(meter, kRelu, 1);
  meter.operator_end();
  run(meter, kRelu, 1);
  EXPECT_EQ(meter.end(kWait), 14 * kPsPerUs);
}

TEST_F(Meter, APointInsideAnOperatorSplitsIt) {
  ComputeMeter meter{options()};
  for (int i = 0; i < 3; ++i) {
    meter.begin();
    meter.operator_begin(kMatmul);
    compute(100 * kUs);
    EXPECT_EQ(meter.end(kWait), 100 * kPsPerUs) << i;
    compute(999 * kUs);  // The primitive itself.
    meter.begin();
    compute(20 * kUs);
    meter.operator_end();
    EXPECT_EQ(meter.end(kClock), 20 * kPsPerUs) << i;
  }
}

TEST_F(Meter, PausedWorkIsFree) {
  ComputeMeter meter{options()};
  meter.begin();
  compute(10 * kUs);
  meter.pause();
  compute(50 * kUs);
  meter.pause();
  meter.resume();
  run(meter, kMatmul, 100 * kUs);
  meter.resume();
  meter.operator_begin(kRelu);
  compute(30 * kUs);
  meter.pause();
  compute(70 * kUs);
  meter.resume();
  meter.operator_end();
  EXPECT_EQ(meter.end(kWait), 40 * kPsPerUs);
}

TEST_F(Meter, APointInAPauseChargesWhatCameBefore) {
  ComputeMeter meter{options()};
  meter.begin();
  compute(10 * kUs);
  meter.pause();
  compute(50 * kUs);
  EXPECT_EQ(meter.end(kWait), 10 * kPsPerUs);
  meter.begin();
  compute(50 * kUs);
  meter.resume();
  compute(3 * kUs);
  EXPECT_EQ(meter.end(kClock), 3 * kPsPerUs);
}

TEST_F(Meter, FixedTimes) {
  ComputeMeter segment{options(MeterMode::kFixedSegment, 5 * kPsPerUs)};
  segment.begin();
  compute(999 * kUs);
  EXPECT_EQ(segment.end(kWait), 5 * kPsPerUs);
  EXPECT_FALSE(segment.wants_operators());
  ComputeMeter operators{options(MeterMode::kFixedOperator, 5 * kPsPerUs)};
  EXPECT_TRUE(operators.wants_operators());
  operators.begin();
  EXPECT_EQ(operators.split(kClock), 1000);  // Loops of polls move.
  operators.pause();
  run(operators, kMatmul, 1);
  operators.resume();
  run(operators, kMatmul, 1);
  EXPECT_EQ(operators.end(kWait), 5 * kPsPerUs);
}

TEST_F(Meter, OtherThreadsDoNotDisturbTheSegment) {
  ComputeMeter meter{options()};
  meter.begin();
  compute(10 * kUs);
  std::thread{[&] {
    meter.operator_begin(kMatmul);
    meter.pause();
    EXPECT_EQ(meter.end(kClock), 0);  // It began none.
    meter.begin();
    compute(7 * kUs);
    EXPECT_EQ(meter.end(kClock), 7 * kPsPerUs);
  }}.join();
  cpu_ns -= 7 * kUs;  // That was the other thread's.
  compute(5 * kUs);
  EXPECT_EQ(meter.end(kWait), 15 * kPsPerUs);
}

TEST_F(Meter, TwoEndsChargeOnce) {
  ComputeMeter meter{options()};
  EXPECT_EQ(meter.end(kClock), 0);
  meter.begin();
  compute(10 * kUs);
  EXPECT_EQ(meter.end(kClock), 10 * kPsPerUs);
  EXPECT_EQ(meter.end(kClock), 0);
}

TEST_F(Meter, LooksAtTheClockMayComeAndGoBetweenRuns) {
  LedgerWriter writer{0, 1};
  writer.add({.point = kWait, .picoseconds = 10});
  writer.add({.point = kClock, .picoseconds = 3});
  writer.add({.point = kWait, .picoseconds = 20});
  const std::string bytes = writer.finish();
  LedgerReader ledger{bytes};
  MeterOptions made = options(MeterMode::kLedger);
  made.clock_point = kClock;
  made.ledger = &ledger;
  int mismatches = 0;
  made.on_mismatch = [&](const LedgerMismatch&) { ++mismatches; };
  ComputeMeter meter{made};
  meter.begin();
  EXPECT_EQ(meter.split(kClock), 0);  // One more than there was.
  EXPECT_EQ(meter.split(kWait), 10);
  EXPECT_EQ(meter.split(kWait), 23);  // One less.
  EXPECT_EQ(mismatches, 0);
  for (int i = 0; i < 1000; ++i) EXPECT_EQ(meter.split(kClock), 0);
  EXPECT_EQ(mismatches, 0);
  meter.split(kClock);  // A loop that will never end.
  EXPECT_EQ(mismatches, 1);
}

TEST_F(Meter, WhatItRecordsItRepeats) {
  ComputeMeter first{options()};
  std::vector<std::int64_t> charged;
  first.begin();
  for (const std::int64_t took : {10, 400, 20, 30}) {
    compute(took * kUs);
    charged.push_back(first.split(took == 400 ? kWait : kClock));
  }
  const std::string bytes = first.record().finish();

  LedgerReader ledger{bytes};
  MeterOptions made = options(MeterMode::kLedger);
  made.ledger = &ledger;
  std::vector<LedgerMismatch> mismatches;
  made.on_mismatch = [&](const LedgerMismatch& mismatch) { mismatches.push_back(mismatch); };
  ComputeMeter second{made};
  second.begin();
  std::vector<std::int64_t> repeated;
  for (const std::uint64_t point : {kClock, kWait, kClock, kClock}) {
    compute(77 * kUs);
    repeated.push_back(second.split(point));
  }
  EXPECT_EQ(repeated, charged);
  EXPECT_TRUE(mismatches.empty());
  EXPECT_EQ(second.record().finish(), bytes);

  EXPECT_EQ(second.split(kWait), 0);
  EXPECT_EQ(second.split(kWait), 0);
  ASSERT_EQ(mismatches.size(), 1U);
  EXPECT_EQ(mismatches[0].position, 4U);
  EXPECT_EQ(mismatches[0].recorded, std::nullopt);
}

TEST_F(Meter, FirstTouchesOfResultsAreChargedAndRepeated) {
  MeterOptions made = options();
  made.clock.page_touch = [] { return std::int64_t{500}; };
  ComputeMeter first{made};
  first.begin();
  compute(10 * kUs);
  EXPECT_EQ(first.end(kWait), 10 * kPsPerUs);
  EXPECT_EQ(first.touch(40), 20 * kPsPerUs);
  first.begin();
  EXPECT_EQ(first.touch(0), 0);
  compute(5 * kUs);
  EXPECT_EQ(first.end(kWait), 5 * kPsPerUs);

  const std::string bytes = first.record().finish();
  for (const bool is_asked : {true, false}) {
    LedgerReader ledger{bytes};
    MeterOptions again = options(MeterMode::kLedger);
    again.clock_point = kClock;
    again.ledger = &ledger;
    again.on_mismatch = [](const LedgerMismatch&) { FAIL(); };
    ComputeMeter second{again};
    second.begin();
    EXPECT_EQ(second.end(kWait), 10 * kPsPerUs);
    if (is_asked) {
      EXPECT_EQ(second.touch(7), 20 * kPsPerUs);
      EXPECT_EQ(second.touch(0), 0);
    }
    second.begin();
    EXPECT_EQ(second.end(kWait), (is_asked ? 5 : 25) * kPsPerUs);
    if (is_asked) {
      EXPECT_EQ(second.record().finish(), bytes) << "a ledger of a ledger is the same";
    }
  }
}

TEST_F(Meter, AnExtraLookAtTheClockDoesNotSwallowATouch) {
  MeterOptions made = options();
  made.clock.page_touch = [] { return std::int64_t{500}; };
  ComputeMeter first{made};
  first.begin();
  compute(10 * kUs);
  first.end(kWait);
  first.touch(40);
  const std::string bytes = first.record().finish();
  LedgerReader ledger{bytes};
  MeterOptions again = options(MeterMode::kLedger);
  again.clock_point = kClock;
  again.ledger = &ledger;
  ComputeMeter second{again};
  second.begin();
  EXPECT_EQ(second.end(kWait), 10 * kPsPerUs);
  second.begin();
  EXPECT_EQ(second.split(kClock), 0);
  EXPECT_EQ(second.touch(0), 20 * kPsPerUs);
}

TEST_F(Meter, ReportsAnotherPathThanRecordedOnce) {
  LedgerWriter writer;
  writer.add({.point = kClock, .picoseconds = 11});
  writer.add({.point = kClock, .picoseconds = 22});
  const std::string bytes = writer.finish();
  LedgerReader ledger{bytes};
  MeterOptions made = options(MeterMode::kLedger);
  made.ledger = &ledger;
  int reports = 0;
  made.on_mismatch = [&](const LedgerMismatch& mismatch) {
    ++reports;
    EXPECT_EQ(mismatch.position, 1U);
    EXPECT_EQ(mismatch.recorded, kClock);
    EXPECT_EQ(mismatch.reached, kWait);
  };
  ComputeMeter meter{made};
  meter.begin();
  EXPECT_EQ(meter.split(kClock), 11);
  EXPECT_EQ(meter.split(kWait), 0);
  EXPECT_EQ(meter.split(kClock), 0);
  EXPECT_EQ(reports, 1);
}

}  // namespace
}  // namespace orrery::live
