// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/record/real_timeline.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "orrery/base/error.hpp"

namespace orrery::live {
namespace {

constexpr std::int64_t kMillisecond = 1'000'000;
constexpr std::int64_t kPicoseconds = 1000;

/// One all_reduce: posted, blocked in wait() from then on, and over.
RealRank rank_with(std::uint32_t rank, std::int64_t posted, std::int64_t done, std::int64_t clock_offset) {
  RealRank one;
  one.rank = rank;
  one.world = 2;
  one.clock = clock_offset == 0 ? "here" : "there";
  one.start = 1000 * kMillisecond + clock_offset;
  one.finish = 1010 * kMillisecond + clock_offset;
  one.groups = {{"0", {0, 1}}};
  const std::int64_t base = 1000 * kMillisecond + clock_offset;
  RealOperation operation;
  operation.name = "all_reduce";
  operation.bytes = 64;
  operation.posted = base + posted;
  operation.returned = base + posted;
  operation.done = base + done;
  one.operations = {operation};
  one.blocked = {{base + posted, base + done, 0}};
  return one;
}

TEST(RealTimeline, TimeBeforeTheLastPartyCameIsWaiting) {
  const RealTimeline timeline = join_ranks({rank_with(0, 1 * kMillisecond, 5 * kMillisecond, 0),
                                            rank_with(1, 3 * kMillisecond, 5 * kMillisecond, 0)});
  EXPECT_EQ(count_ps(timeline.ranks[0].waiting), 2 * kMillisecond * kPicoseconds);
  EXPECT_EQ(count_ps(timeline.ranks[0].communication), 2 * kMillisecond * kPicoseconds);
  EXPECT_EQ(count_ps(timeline.ranks[0].compute), 6 * kMillisecond * kPicoseconds);
  EXPECT_EQ(count_ps(timeline.ranks[1].waiting), 0);
  EXPECT_EQ(timeline.operations[0].began, timeline.operations[1].posted);
  EXPECT_EQ(timeline.clock_spread, Duration{});
}

TEST(RealTimeline, BytesAreThoseOfTheWholeOperation) {
  using Pair = std::pair<std::int64_t, std::int64_t>;
  const auto bytes = [](const char* name, std::int64_t first, std::int64_t second) {
    std::vector<RealRank> ranks{rank_with(0, 1 * kMillisecond, 5 * kMillisecond, 0),
                                rank_with(1, 3 * kMillisecond, 5 * kMillisecond, 0)};
    for (RealRank& rank : ranks) rank.operations[0].name = name;
    ranks[0].operations[0].bytes = first;
    ranks[1].operations[0].bytes = second;
    const RealTimeline timeline = join_ranks(std::move(ranks));
    return Pair{timeline.operations[0].bytes, timeline.operations[1].bytes};
  };
  EXPECT_EQ(bytes("all_reduce", 64, 64), Pair(64, 64));
  EXPECT_EQ(bytes("all_gather_into_tensor", 64, 36), Pair(100, 100));
  EXPECT_EQ(bytes("broadcast", 0, 64), Pair(64, 64));
  EXPECT_EQ(bytes("scatter", 64, 0), Pair(32, 32));
  EXPECT_EQ(bytes("reduce_scatter_tensor", 64, 64), Pair(64, 64));
}

TEST(RealTimeline, ClocksOfHostsArePutTogetherByTheEndsOfCollectives) {
  const RealTimeline alike = join_ranks({rank_with(0, 1 * kMillisecond, 5 * kMillisecond, 0),
                                         rank_with(1, 3 * kMillisecond, 5 * kMillisecond, 0)});
  const RealTimeline apart = join_ranks({rank_with(0, 1 * kMillisecond, 5 * kMillisecond, 0),
                                         rank_with(1, 3 * kMillisecond, 5 * kMillisecond, -777'777)});
  EXPECT_EQ(apart.operations[1].posted, alike.operations[1].posted);
  EXPECT_EQ(apart.ranks[0].waiting, alike.ranks[0].waiting);
}

TEST(RealTimeline, HostsWithoutACommonCollectiveAreRefused) {
  RealRank lonely = rank_with(1, 3 * kMillisecond, 5 * kMillisecond, -5);
  lonely.operations[0].sequence = 9;
  EXPECT_THROW(static_cast<void>(join_ranks({rank_with(0, 1, 2, 0), lonely})), InputError);
}

TEST(RealTimeline, AWaitInAFutureBelongsToTheOperationThatEndedInIt) {
  RealRank first = rank_with(0, 1 * kMillisecond, 5 * kMillisecond, 0);
  first.blocked[0].operation = -1;
  const RealTimeline timeline = join_ranks({first, rank_with(1, 3 * kMillisecond, 5 * kMillisecond, 0)});
  EXPECT_EQ(count_ps(timeline.ranks[0].waiting), 2 * kMillisecond * kPicoseconds);
  EXPECT_EQ(count_ps(timeline.ranks[0].communication), 2 * kMillisecond * kPicoseconds);
}

TEST(RealTimeline, TimeBeforeTheEndOfTheWarmUpDoesNotCount) {
  RealRank first = rank_with(0, 1 * kMillisecond, 5 * kMillisecond, 0);
  first.begin = 1004 * kMillisecond;
  const RealTimeline timeline = join_ranks({first, rank_with(1, 3 * kMillisecond, 5 * kMillisecond, 0)});
  EXPECT_EQ(count_ps(timeline.ranks[0].communication), 1 * kMillisecond * kPicoseconds);
  EXPECT_EQ(count_ps(timeline.ranks[0].compute), 5 * kMillisecond * kPicoseconds);
  EXPECT_EQ(timeline.ranks[0].operations, 0U);
}

TEST(RecordFile, AFileThatIsNotWholeIsRefused) {
  const std::string path = (std::filesystem::temp_directory_path() / "orrery-record-test").string();
  const auto written = [&](const char* text) {
    std::ofstream{path} << text;
    return path;
  };
  EXPECT_THROW(static_cast<void>(read_record_file(written("hello\n"))), InputError);
  EXPECT_THROW(static_cast<void>(read_record_file(written("orrery-record 1\nrank 0\nworld 1\n"))),
               InputError);
  EXPECT_THROW(static_cast<void>(read_record_file(written("orrery-record 1\nrank 2\nworld 1\nend\n"))),
               InputError);
  EXPECT_THROW(
      static_cast<void>(read_record_file(written("orrery-record 1\nrank 0\nworld 1\nop x 0\nend\n"))),
      InputError);
  EXPECT_EQ(read_record_file(written("orrery-record 1\nrank 0\nworld 1\nend\n")).world, 1U);
  std::filesystem::remove(path);
}

TEST(RecordFile, AGroupWithoutRanksIsRefusedWithItsLine) {
  const std::string path = (std::filesystem::temp_directory_path() / "orrery-record-group-test").string();
  std::ofstream{path} << "orrery-record 1\nrank 0\nworld 1\ngroup g\nend\n";
  try {
    static_cast<void>(read_record_file(path));
    ADD_FAILURE() << "it was read";
  } catch (const InputError& error) {
    EXPECT_EQ(error.problem().source, path);
    EXPECT_EQ(error.problem().position.line, 4);
    EXPECT_EQ(error.problem().expected, "a group without ranks; expected at least one");
  }
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace orrery::live
