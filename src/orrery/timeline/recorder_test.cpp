// SPDX-License-Identifier: Apache-2.0
#include "orrery/timeline/recorder.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <limits>

#include "orrery/base/check.hpp"
#include "orrery/engine/engine.hpp"

namespace orrery::timeline {
namespace {

using namespace std::chrono_literals;

TEST(StringTable, SameTextSameNumberHoweverMany) {
  StringTable table;
  EXPECT_EQ(table.intern(""), TextId{0U});
  std::vector<TextId> ids;
  for (int i = 0; i < 5000; ++i) ids.push_back(table.intern(fmt::format("text {}", i)));
  for (int i = 0; i < 5000; ++i) {
    const std::string text = fmt::format("text {}", i);
    EXPECT_EQ(table.intern(text), ids[static_cast<std::size_t>(i)]);
    EXPECT_EQ(table.text(ids[static_cast<std::size_t>(i)]), text);
  }
  EXPECT_EQ(table.size(), 5001U);
}

TEST(Recorder, SameNamesGiveTheSameTrack) {
  Recorder recorder;
  const TrackId rank = recorder.track("ranks", "0");
  EXPECT_NE(recorder.track("links", "0"), rank);
  EXPECT_NE(recorder.track("ranks0", ""), rank);
  EXPECT_EQ(recorder.track("ranks", "0"), rank);
  EXPECT_EQ(recorder.tracks().size(), 3U);
}

TEST(Recorder, KeepsWhatTheEngineIsToldAndInOrder) {
  Recorder recorder;
  engine::Engine engine;
  engine.set_observer(&recorder);
  engine::Observer& observer = *engine.observer();
  const TrackId rank = observer.track("ranks", "rank 0");
  observer.span(rank, "late", Time{5ns}, Time{6ns}, "");
  observer.span(rank, "early", Time{1ns}, Time{2ns}, "why");
  ASSERT_EQ(recorder.spans().size(), 2U);
  EXPECT_EQ(recorder.text(recorder.spans()[0].name), "late");
  EXPECT_EQ(recorder.text(recorder.spans()[1].detail), "why");
}

TEST(Recorder, CapWarnsOnceAndCountsTheRest) {
  std::vector<std::string> warnings;
  Recorder recorder{{.max_events = 2, .warn = [&](const std::string& text) { warnings.push_back(text); }}};
  const TrackId rank = recorder.track("ranks", "rank 0");
  recorder.span(rank, "a", Time{}, Time{1ns}, "");
  recorder.counter(rank, "queue", Time{}, 1);
  EXPECT_EQ(recorder.dropped(), 0U);
  EXPECT_TRUE(warnings.empty());
  recorder.flow(rank, Time{3ns}, rank, Time{4ns});
  recorder.span(rank, "b", Time{5ns}, Time{6ns}, "");
  EXPECT_EQ(recorder.dropped(), 2U);
  EXPECT_EQ(recorder.first_dropped(), Time{3ns});
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_EQ(warnings[0], "the timeline is full: it keeps the first 2 events, later ones are only counted");
  EXPECT_EQ(recorder.spans().size() + recorder.flows().size() + recorder.counters().size(), 2U);
}

TEST(Recorder, NonsenseIsABug) {
  Recorder recorder;
  const TrackId rank = recorder.track("ranks", "rank 0");
  EXPECT_THROW(recorder.span(rank, "backwards", Time{2ns}, Time{1ns}, ""), Bug);
  EXPECT_THROW(recorder.span(rank, "too early", Time{-1ns}, Time{1ns}, ""), Bug);
  EXPECT_THROW(recorder.span(TrackId{7U}, "no such track", Time{}, Time{1ns}, ""), Bug);
  EXPECT_THROW(recorder.flow(rank, Time{2ns}, rank, Time{1ns}), Bug);
  EXPECT_THROW(recorder.counter(rank, "queue", Time{}, std::numeric_limits<double>::quiet_NaN()), Bug);
}

}  // namespace
}  // namespace orrery::timeline
