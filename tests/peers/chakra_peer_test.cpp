// SPDX-License-Identifier: Apache-2.0
// Goal: execution traces written by Chakra's own tools are read, are sound, and come back from JSON byte for byte.
// Method: every ET file bundled with ASTRA-sim (../shared/peers/astra-sim).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <set>

#include "orrery/app/trace_check.hpp"
#include "orrery/app/trace_convert.hpp"
#include "orrery/app/trace_info.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/testing/temporary_folder.hpp"

namespace orrery::app {
namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path{ORRERY_SOURCE_DIR} / "../shared/peers/astra-sim";

class ChakraPeer : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kFolder)) GTEST_SKIP() << "no peer files at " << kFolder;
    for (const fs::directory_entry& entry : fs::recursive_directory_iterator{kFolder}) {
      if (entry.path().extension() != ".et") continue;
      files_.push_back(entry.path());
      folders_.insert(entry.path().parent_path());
    }
    ASSERT_GE(files_.size(), 120U);
  }
  std::vector<fs::path> files_;
  std::set<fs::path> folders_;
};

TEST_F(ChakraPeer, ThroughJsonAndBack) {
  const orrery::test::TemporaryFolder folder;
  for (const fs::path& file : files_) {
    static_cast<void>(convert_traces(file.string(), folder.path("there.json"), ""));
    EXPECT_EQ(read_file(folder.path("there.json"), 1 << 24).find("\"wire\""), std::string::npos) << file;
    static_cast<void>(convert_traces(folder.path("there.json"), folder.path("packed.et.gz"), ""));
    static_cast<void>(convert_traces(folder.path("packed.et.gz"), folder.path("back.et"), ""));
    EXPECT_EQ(read_file(folder.path("back.et"), 1 << 24), read_file(file.string(), 1 << 24)) << file;
  }
}

TEST_F(ChakraPeer, AreSound) {
  ASSERT_GE(folders_.size(), 13U);
  for (const fs::path& folder : folders_) {
    const TraceCheck check = trace_check(folder.string());
    EXPECT_EQ(check.problems.count(), 0U) << to_json(check);
    EXPECT_EQ(trace_info(folder.string()).totals.nodes, check.nodes);
  }
}

TEST_F(ChakraPeer, OneMegabytePerCollective) {
  const TraceInfo info = trace_info((kFolder / "workload/all_to_all/16npus_1MB").string());
  EXPECT_EQ(info.ranks.size(), 16U);
  EXPECT_EQ(info.totals.collectives.at("all_to_all").bytes, WideSum{16 << 20});
  const TraceInfo ring = trace_info((kFolder / "system/custom_ring_allreduce_8npus_1MB").string());
  EXPECT_EQ(ring.ranks[0].sums.sends.bytes, WideSum{14 * 131072});
  EXPECT_EQ(ring.ranks[0].path.time, std::chrono::microseconds{7 * 7});
}

}  // namespace
}  // namespace orrery::app
