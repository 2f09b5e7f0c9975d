// SPDX-License-Identifier: Apache-2.0
#include "orrery/timeline/layout.hpp"

#include <gtest/gtest.h>

#include <string>

#include "orrery/base/rng.hpp"
#include "orrery/timeline/arrows.hpp"
#include "orrery/timeline/viewer_time.hpp"

namespace orrery::timeline {
namespace {

using namespace std::chrono_literals;

std::string microseconds_text(std::int64_t ps) {
  std::string text;
  append_microseconds(text, picoseconds(ps));
  return text;
}

TEST(ViewerTime, EveryPicosecondIsWritten) {
  EXPECT_EQ(microseconds_text(0), "0");
  EXPECT_EQ(microseconds_text(1), "0.000001");
  EXPECT_EQ(microseconds_text(1'234'567), "1.234567");
  EXPECT_EQ(microseconds_text(1'500'000), "1.5");
  EXPECT_EQ(microseconds_text(20'000'000), "20");
  EXPECT_EQ(microseconds_text(9'223'372'036'854'775'807), "9223372036854.775807");
}

TEST(ViewerTime, RoundsToTheNearestNanosecond) {
  EXPECT_EQ(viewer_nanoseconds(picoseconds(499)), 0);
  EXPECT_EQ(viewer_nanoseconds(picoseconds(501)), 1);
  EXPECT_EQ(viewer_nanoseconds(picoseconds(1'001'000)), 1001);
  EXPECT_EQ(viewer_nanoseconds(Duration{24h}), 86'400'000'000'000);
}

/// The rows of one track as "a b|c": names in order, rows apart.
class LayoutTest : public testing::Test {
 protected:
  void span(std::string_view name, Duration begin, Duration end) {
    recorder_.span(track_, name, Time{begin}, Time{end}, "");
  }
  [[nodiscard]] std::string rows() const {
    std::string text;
    const Layout layout{recorder_};
    for (const Lane& lane : layout.lanes()) {
      if (lane.number > 0) text += "|";
      for (const std::uint32_t index : lane.spans) text += recorder_.text(recorder_.spans()[index].name);
    }
    return text;
  }
  Recorder recorder_;
  TrackId track_ = recorder_.track("ranks", "rank 0");
};

TEST_F(LayoutTest, NestedAndTouchingSpansShareARow) {
  span("c", 4ns, 6ns);
  span("b", 0ns, 4ns);
  span("a", 0ns, 6ns);
  span("d", 6ns, 9ns);
  span("e", 9ns, 9ns);
  EXPECT_EQ(rows(), "abcde");
}

TEST_F(LayoutTest, OverlapGoesToTheFirstRowWhereItFits) {
  span("a", 0ns, 10ns);
  span("b", 5ns, 15ns);
  span("c", 6ns, 16ns);
  span("d", 12ns, 14ns);
  span("e", 15ns, 20ns);
  EXPECT_EQ(rows(), "ade|b|c");
}

TEST_F(LayoutTest, EqualSpansKeepTheirOrder) {
  span("a", 0ns, 1ns);
  span("b", 0ns, 1ns);
  EXPECT_EQ(rows(), "ab");
}

TEST_F(LayoutTest, EmptyTrackHasOneEmptyRow) {
  const Layout layout{recorder_};
  ASSERT_EQ(layout.lanes().size(), 1U);
  EXPECT_TRUE(layout.lanes()[0].spans.empty());
}

TEST_F(LayoutTest, NothingCrossesInTheViewerEither) {
  // The viewer rounds to nanoseconds; spans a few hundred picoseconds long are the hard case.
  Rng rng{1, "layout"};
  for (int i = 0; i < 3000; ++i) {
    const Duration begin = picoseconds(rng.between(0, 200'000));
    span("x", begin, begin + picoseconds(rng.between(0, 5'000)));
  }
  const Layout layout{recorder_};
  std::size_t seen = 0;
  for (const Lane& lane : layout.lanes()) {
    std::vector<std::int64_t> open;
    for (const std::uint32_t index : lane.spans) {
      const std::int64_t begin = viewer_nanoseconds(recorder_.spans()[index].begin);
      const std::int64_t end = viewer_nanoseconds(recorder_.spans()[index].end);
      while (!open.empty() && open.back() <= begin) open.pop_back();
      EXPECT_TRUE(open.empty() || end <= open.back());
      open.push_back(end);
      ++seen;
    }
  }
  EXPECT_EQ(seen, 3000U);
}

class ArrowTest : public testing::Test {
 protected:
  void span(TrackId track, Duration begin, Duration end) {
    recorder_.span(track, "x", Time{begin}, Time{end}, "");
  }
  [[nodiscard]] Arrow tie(Duration sent, Duration received) const {
    return tie_arrow(recorder_, Layout{recorder_}, {Time{sent}, Time{received}, from_, to_});
  }
  Recorder recorder_;
  TrackId from_ = recorder_.track("ranks", "rank 0");
  TrackId to_ = recorder_.track("ranks", "rank 1");
};

TEST_F(ArrowTest, FromTheSendToWhatBeginsOnArrival) {
  span(from_, 0ns, 10ns);
  span(from_, 10ns, 20ns);
  span(to_, 10ns, 20ns);
  span(to_, 20ns, 30ns);
  const Arrow arrow = tie(10ns, 20ns);
  EXPECT_FALSE(arrow.tail.needs_mark);
  EXPECT_FALSE(arrow.head.needs_mark);
}

TEST_F(ArrowTest, FromWhatJustEndedIfNothingBegins) {
  span(from_, 0ns, 10ns);
  EXPECT_FALSE(tie(10ns, 20ns).tail.needs_mark);
  span(from_, 10ns, 90ns);  // Would be drawn from 90 ns back to 20 ns.
  EXPECT_TRUE(tie(10ns, 20ns).tail.needs_mark);
}

TEST_F(ArrowTest, InTheMiddleOfASpanItIsMarked) {
  span(from_, 0ns, 30ns);
  span(to_, 0ns, 30ns);
  const Arrow arrow = tie(10ns, 20ns);
  EXPECT_TRUE(arrow.tail.needs_mark);
  EXPECT_TRUE(arrow.head.needs_mark);
}

TEST_F(ArrowTest, IdleTracksGetMarks) {
  span(from_, 0ns, 5ns);
  const Arrow arrow = tie(10ns, 20ns);
  EXPECT_TRUE(arrow.tail.needs_mark);
  EXPECT_TRUE(arrow.head.needs_mark);
}

TEST_F(ArrowTest, FindsTheSpanOnAnExtraRow) {
  span(from_, 0ns, 15ns);
  span(from_, 10ns, 20ns);
  span(to_, 30ns, 40ns);
  const Arrow arrow = tie(10ns, 30ns);
  EXPECT_EQ(arrow.tail.lane, 1U);
  EXPECT_EQ(arrow.head.lane, 2U);
  EXPECT_FALSE(arrow.tail.needs_mark || arrow.head.needs_mark);
}

TEST_F(ArrowTest, SpansInOneNanosecondCannotBeToldApart) {
  span(from_, 10ns, 10ns + picoseconds(200));
  span(from_, 10ns + picoseconds(200), 20ns);
  EXPECT_TRUE(tie(10ns, 30ns).tail.needs_mark);
}

}  // namespace
}  // namespace orrery::timeline
