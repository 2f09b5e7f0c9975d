// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/ledger_file.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <string>
#include <vector>

namespace orrery::live {
namespace {

std::vector<LedgerEntry> read_all(std::string_view bytes) {
  LedgerReader reader{bytes};
  std::vector<LedgerEntry> entries;
  while (const auto entry = reader.next()) entries.push_back(*entry);
  EXPECT_EQ(entries.size(), reader.size());
  EXPECT_EQ(reader.position(), reader.size());
  return entries;
}

std::string problem_of(std::string_view bytes) {
  try {
    read_all(bytes);
  } catch (const LedgerError& error) {
    return error.what();
  }
  return "";
}

std::string sample() {
  LedgerWriter writer{3, 8};
  writer.add({.point = 1, .picoseconds = 5'000});
  std::string bytes = writer.take();
  writer.add({.point = 2, .picoseconds = 0});
  writer.add({.point = 300, .picoseconds = 123'456'789'012});
  return bytes + writer.finish();
}

TEST(LedgerFile, GivesBackWhatWasWritten) {
  LedgerWriter writer{3, 8};
  std::vector<LedgerEntry> entries;
  std::string bytes;
  for (std::uint64_t i = 0; i < 1000; ++i) {
    const LedgerEntry entry{.point = i * i * i * i * i * 977,
                            .picoseconds = static_cast<std::int64_t>(i * i * 31)};
    entries.push_back(entry);
    writer.add(entry);
    if (i % 137 == 0) bytes += writer.take();
  }
  entries.push_back({.point = UINT64_MAX, .picoseconds = INT64_MAX});
  writer.add(entries.back());
  bytes += writer.finish();
  EXPECT_EQ(read_all(bytes), entries);
  EXPECT_EQ(LedgerReader{bytes}.rank(), 3U);
  EXPECT_EQ(LedgerReader{bytes}.world(), 8U);
}

TEST(LedgerFile, MayBeEmpty) {
  LedgerWriter writer{0, 1};
  EXPECT_TRUE(read_all(writer.finish()).empty());
}

TEST(LedgerFile, IsCompact) {
  LedgerWriter writer{0, 1};
  for (int i = 0; i < 1000; ++i) writer.add({.point = 2, .picoseconds = 20'000'000});
  EXPECT_LT(writer.finish().size(), 1000 * 5 + 100);
}

TEST(LedgerFile, NoticesEveryTruncation) {
  const std::string bytes = sample();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(problem_of(std::string_view{bytes}.substr(0, size)), "") << size;
  }
}

TEST(LedgerFile, NoticesEveryDamagedByte) {
  const std::string bytes = sample();
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_NE(problem_of(damaged), "") << at;
  }
}

TEST(LedgerFile, SaysWhatIsWrong) {
  using testing::HasSubstr;
  const std::string bytes = sample();
  EXPECT_THAT(problem_of("hello"), HasSubstr("this is no ledger"));
  std::string newer = bytes;
  newer[8] = 3;
  EXPECT_THAT(problem_of(newer), HasSubstr("version 3; this program reads versions 1 and 2"));
  EXPECT_THAT(problem_of(std::string_view{bytes}.substr(0, bytes.size() - 20)),
              HasSubstr("without its end mark"));
  EXPECT_THAT(problem_of(std::string_view{bytes}.substr(0, bytes.size() - 1)),
              HasSubstr("cut off inside a frame"));
  EXPECT_THAT(problem_of(bytes + "x"), HasSubstr("something after the end"));
}

TEST(LedgerFile, SaysWhoseTimesTheyAre) {
  for (const bool is_device_time : {false, true}) {
    LedgerWriter writer{0, 1, is_device_time};
    const std::string bytes = writer.finish();
    EXPECT_EQ(LedgerReader{bytes}.is_device_time(), is_device_time);
  }
}

}  // namespace
}  // namespace orrery::live
