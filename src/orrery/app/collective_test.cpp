// SPDX-License-Identifier: Apache-2.0
// The call behind `orrery collective`: same answer whatever the workers and the queue, and what its options do.
#include "orrery/app/collective.hpp"

#include <gmock/gmock.h>

#include <filesystem>

#include "orrery/base/error.hpp"
#include "orrery/engine/engine.hpp"
#include "orrery/testing/temporary_folder.hpp"

namespace orrery::app {
namespace {

using testing::HasSubstr;

CollectiveOptions all_reduce(const std::string& cluster, const std::string& size) {
  CollectiveOptions options;
  options.operation = "all_reduce";
  options.cluster = cluster;
  options.size = size;
  return options;
}

const std::string kStar = "star:hosts=4,bandwidth=1GBps,latency=500us";

/// A cluster file in the temporary folder.
class ClusterFile {
 public:
  explicit ClusterFile(const std::string& more)
      : path_{folder_.write("cluster.yaml",
                            "topology: {star: {hosts: 2, bandwidth: 1GBps, latency: 0ns}}\n" + more)} {}
  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  test::TemporaryFolder folder_;
  std::string path_;
};

CollectiveOptions send(const std::string& cluster) {
  CollectiveOptions options = all_reduce(cluster, "1MB");
  options.operation = "send_recv";
  return options;
}

TEST(Collective, WorkersAndQueuesNeverChangeTheResult) {
  CollectiveOptions options = all_reduce("hgx-h100x4", "1KiB,1MiB");
  options.skew = "3us";
  options.seed = 7;
  const CollectiveResult first = collective(options);
  for (const std::int64_t workers : {1, 2, 5}) {
    for (const engine::QueueKind queue : {engine::QueueKind::kRadix, engine::QueueKind::kDary}) {
      options.workers = workers;
      options.queue = queue;
      EXPECT_EQ(to_json(collective(options)), to_json(first));
    }
  }
  options.seed = 8;
  EXPECT_NE(collective(options).digest, first.digest);
}

TEST(Collective, BestOfEachSizeIsMarkedOnce) {
  const CollectiveResult result = collective(all_reduce("hgx-h100", "1KiB,64MiB"));
  for (const std::int64_t size : {std::int64_t{1024}, std::int64_t{64} << 20}) {
    int best = 0;
    std::int64_t fastest = INT64_MAX;
    for (const CollectiveRow& row : result.rows) {
      if (row.size_bytes == size) fastest = std::min(fastest, row.time_ps);
    }
    for (const CollectiveRow& row : result.rows) {
      if (row.size_bytes != size || !row.is_best) continue;
      ++best;
      EXPECT_EQ(row.time_ps, fastest);
    }
    EXPECT_EQ(best, 1);
  }
}

TEST(Collective, RingIsTheClosedForm) {
  CollectiveOptions options = all_reduce(kStar, "4MB");
  options.algorithm = "ring";
  const CollectiveResult result = collective(options);
  ASSERT_EQ(result.rows.size(), 1U);
  EXPECT_EQ(result.rows[0].time_ps, 6 * 2'000'000'000LL);  // 2(n-1) steps of 1 ms latency and 1 MB at 1 GB/s.
  EXPECT_DOUBLE_EQ(*result.rows[0].algbw_gbps, 4.0 / 12);
  EXPECT_DOUBLE_EQ(*result.rows[0].busbw_gbps, 4.0 / 12 * 1.5);
  EXPECT_EQ(result.rows[0].messages, 24U);
}

TEST(Collective, IterationsFollowEachOther) {
  CollectiveOptions options = all_reduce(kStar, "4MB");
  options.algorithm = "ring";
  options.iterations = 10;
  const CollectiveRow row = collective(options).rows.at(0);
  EXPECT_EQ(row.time_ps, 12'000'000'000LL);
  EXPECT_EQ(row.total_time_ps, 120'000'000'000LL);
  EXPECT_EQ(row.messages, 24U);
}

TEST(Collective, OneRankTakesNoTimeHoweverOften) {
  CollectiveOptions options = all_reduce(kStar, "4MB");
  options.ranks = 1;
  options.algorithm = "ring";
  options.iterations = 100'000;
  const CollectiveRow row = collective(options).rows.at(0);
  EXPECT_EQ(row.time_ps, 0);
  EXPECT_FALSE(row.algbw_gbps.has_value());
  EXPECT_THAT(to_json(collective(options)), HasSubstr("\"algbw_GBps\": null"));
}

TEST(Collective, LinkEventsAreFelt) {
  const ClusterFile plain{""};
  EXPECT_EQ(collective(send(plain.path())).rows.at(0).time_ps, 1'000'000'000);
  const ClusterFile slower{"events: [{at: 500us, link: \"host[0] -> switch\", bandwidth: 500MBps}]\n"};
  EXPECT_EQ(collective(send(slower.path())).rows.at(0).time_ps, 1'500'000'000);
  const ClusterFile pause{"events: [{at: 500us, link: \"host[0] -> switch\", state: down, for: 3ms}]\n"};
  EXPECT_EQ(collective(send(pause.path())).rows.at(0).time_ps, 4'000'000'000);
}

TEST(Collective, ALinkThatStaysDownIsASimulationError) {
  const ClusterFile down{"events: [{at: 500us, link: \"host[0] -> switch\", state: down}]\n"};
  EXPECT_THROW(static_cast<void>(collective(send(down.path()))), SimulationError);
}

TEST(Collective, UnevenSizes) {
  CollectiveOptions options;
  options.operation = "all_gather";
  options.cluster = kStar;
  options.algorithm = "direct";
  options.uneven = {4'000'000, 0, 0, 0};
  const CollectiveRow row = collective(options).rows.at(0);
  EXPECT_EQ(row.size_bytes, 4'000'000);
  EXPECT_EQ(row.time_ps, 1'000'000'000 + 12'000'000'000);  // Rank 0 sends 4 MB to each of three.
  options.uneven = {1, 2};
  EXPECT_THROW(static_cast<void>(collective(options)), InputError);
  options.operation = "broadcast";
  EXPECT_THROW(static_cast<void>(collective(options)), InputError);
}

TEST(Collective, StopsWhenAsked) {
  CollectiveOptions options = all_reduce("gb200-nvl72", "1KiB..1GiB");
  int asked = 0;
  options.wants_stop = [&] { return ++asked > 25; };
  EXPECT_THROW(static_cast<void>(collective(options)), engine::Interrupted);
}

TEST(Collective, ExceptionsOfTheProgressCallbackComeThrough) {
  CollectiveOptions options = all_reduce("hgx-h100", "1KiB");
  options.on_progress = [](std::size_t, std::size_t) { throw std::domain_error{"enough"}; };
  EXPECT_THROW(static_cast<void>(collective(options)), std::domain_error);
}

TEST(Collective, AutoKeepsToItsBudgetAndSaysSo) {
  CollectiveOptions options = all_reduce(kStar, "1KiB");
  const std::size_t able = collective(options).rows.size();
  options.budget = 12;  // A ring of four sends 24 messages; direct as many, three in a row.
  const CollectiveResult result = collective(options);
  EXPECT_LT(result.rows.size(), able);
  ASSERT_EQ(result.warnings.size(), 1U);
  EXPECT_THAT(result.warnings[0], HasSubstr("ring (24 messages)"));
  EXPECT_THAT(result.warnings[0], HasSubstr("--budget"));
  options.algorithm = "all";
  EXPECT_EQ(collective(options).rows.size(), able);
  EXPECT_TRUE(collective(options).warnings.empty());
  options.budget = 0;
  EXPECT_THROW(static_cast<void>(collective(options)), InputError);
}

TEST(Collective, TimelineIsWrittenAndChangesNothing) {
  CollectiveOptions options = all_reduce("hgx-h100", "1KiB,64KiB");
  const std::uint64_t digest = collective(options).digest;
  const test::TemporaryFolder folder;
  options.trace = folder.path("trace.json.gz");
  const CollectiveResult result = collective(options);
  EXPECT_EQ(result.digest, digest);
  EXPECT_THAT(result.trace_note, HasSubstr("64KiB"));
  EXPECT_GT(std::filesystem::file_size(options.trace), 100U);
  options.trace = folder.path();
  EXPECT_THROW(static_cast<void>(collective(options)), InputError);
}

}  // namespace
}  // namespace orrery::app
