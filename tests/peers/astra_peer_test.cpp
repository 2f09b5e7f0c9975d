// SPDX-License-Identifier: Apache-2.0
// Goal: ASTRA-sim's bundled examples give its cycles, to the last digit, on both networks, folded or not. Method: its
// files (../shared/peers/astra-sim) and the cycles it printed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "orrery/app/astra_replay.hpp"
#include "orrery/base/error.hpp"
#include "orrery/testing/temporary_folder.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::app {
namespace {

const std::filesystem::path kFolder = std::filesystem::path{ORRERY_SOURCE_DIR} / "../shared/peers/astra-sim";

std::string file(const std::string& name) { return (kFolder / name).string(); }

class AstraPeer : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << "no peer files at " << kFolder;
  }

  /// Every rank's cycles, which are to be equal.
  static std::uint64_t cycles(AstraReplayOptions options) {
    const AstraReplayResult folded = replay_astra(options);
    options.may_fold = false;
    const AstraReplayResult whole = replay_astra(options);
    EXPECT_EQ(folded.outcome.ranks, whole.outcome.ranks);
    EXPECT_EQ(folded.outcome.digest, whole.outcome.digest);
    for (const astra::RankTimes& rank : whole.outcome.ranks) {
      EXPECT_EQ(rank.cycles, whole.outcome.cycles);
      EXPECT_EQ(rank.exposed_cycles, whole.outcome.cycles);
    }
    return whole.outcome.cycles;
  }

  static AstraReplayOptions bundled(const std::string& operation, int npus) {
    return {.workload = file("workload/" + operation + "/" + std::to_string(npus) + "npus_1MB/" + operation),
            .system = file("system/Ring_4chunks.json"),
            .network = file("network/Ring_" + std::to_string(npus) + "npus.yml"),
            .memory = file("memory/no_memory_expansion.json")};
  }
};

TEST_F(AstraPeer, BundledWorkloads) {
  struct Row {
    const char* operation;
    int npus;
    std::uint64_t cycles;
  };
  const std::vector<Row> rows{
      {"all_gather", 4, 64744},     {"all_gather", 8, 151016},    {"all_gather", 16, 323560},
      {"all_reduce", 4, 43000},     {"all_reduce", 8, 64440},     {"all_reduce", 16, 99640},
      {"all_to_all", 4, 41560},     {"all_to_all", 8, 125480},    {"all_to_all", 16, 391240},
      {"reduce_scatter", 4, 22240}, {"reduce_scatter", 8, 33080}, {"reduce_scatter", 16, 50740}};
  for (const Row& row : rows) {
    for (const bool is_aware : {false, true}) {
      AstraReplayOptions options = bundled(row.operation, row.npus);
      options.is_aware = is_aware;
      EXPECT_EQ(cycles(options), row.cycles) << row.operation << " on " << row.npus;
    }
  }
}

TEST_F(AstraPeer, ValidatedHgx) {
  struct Row {
    const char* operation;
    std::uint64_t aware;
    std::uint64_t unaware;
  };
  for (const Row& row : std::vector<Row>{{"all_gather", 44058, 34908},
                                         {"all_reduce", 57426, 55222},
                                         {"all_to_all", 114000, 109668},
                                         {"reduce_scatter", 28950, 27810}}) {
    AstraReplayOptions options = bundled(row.operation, 8);
    options.system = file("system/HGX-H100-validated.json");
    options.network = file("network/HGX-H100-validated.yml");
    EXPECT_EQ(cycles(options), row.unaware) << row.operation;
    options.is_aware = true;
    EXPECT_EQ(cycles(options), row.aware) << row.operation;
  }
}

TEST_F(AstraPeer, ValidatedHgxOverSizes) {
  struct Row {
    std::int64_t size;
    std::vector<std::uint64_t> cycles;  // aware, unaware of 2, 4 and 8 GPUs.
  };
  const std::vector<Row> rows{
      {1, {7548, 7548, 22604, 22604, 52716, 52716}},
      {1 << 10, {7548, 7548, 22604, 22604, 52716, 52716}},
      {64 << 10, {7731, 7636, 22847, 22742, 53000, 52856}},
      {1 << 20, {10527, 9002, 26746, 24782, 57426, 55222}},
      {16 << 20, {55250, 30836, 89263, 57530, 128808, 93456}},
      {256 << 20, {770769, 380144, 1089298, 581504, 1271151, 704752}},
      {std::int64_t{1} << 30, {3060432, 1497932, 4289430, 2258180, 4926513, 2660888}},
      {std::int64_t{2} << 30, {6113322, 2988322, 8556256, 4493756, 9800310, 5269060}},
  };
  astra::Warnings warnings;
  astra::Inputs inputs;
  inputs.system = astra::read_system(file("system/HGX-H100-validated.json"), 1, warnings);
  inputs.network = astra::read_network(file("network/HGX-H100-validated.yml"), warnings);
  for (const Row& row : rows) {
    std::vector<std::uint64_t> got;
    for (const std::uint32_t npus : {2U, 4U, 8U}) {
      workload::Op op;
      op.kind = workload::OpKind::kCollective;
      op.size = Bytes{row.size};
      inputs.network.dims[0].size = npus;
      inputs.workload = workload::stored_workload("sweep", {npus, std::vector{op}});
      for (const bool is_aware : {true, false}) {
        inputs.is_aware = is_aware;
        inputs.may_fold = row.size % 3 == 0;
        got.push_back(astra::simulate(inputs).cycles);
      }
    }
    EXPECT_EQ(got, row.cycles) << row.size;
  }
}

TEST_F(AstraPeer, CustomRing) {
  const test::TemporaryFolder folder;
  const std::string prefix = file("system/custom_ring_allreduce_8npus_1MB/custom_allreduce");
  AstraReplayOptions options = bundled("all_reduce", 8);
  options.system = folder.write("system.json", R"({"scheduling-policy": "FIFO", "preferred-dataset-splits": 1,
"all-reduce-implementation-custom": [")" + prefix + R"("], "local-mem-bw": 50})");
  EXPECT_EQ(cycles(options), 90174U);
  options.is_aware = true;
  EXPECT_EQ(cycles(options), 90174U);
  // The same by node: the nodes of the bundled traces are numbered through all ranks.
  const std::string map = folder.write("map.yml", "7: " + prefix + "\n");
  options.system =
      folder.write("by_node.json", R"({"scheduling-policy": "FIFO", "preferred-dataset-splits": 4,
"all-reduce-implementation-custom": [")" +
                                       prefix + R"("], "per-node-custom-implementation": ")" + map + R"("})");
  EXPECT_THROW(static_cast<void>(replay_astra(options)), SimulationError);  // One chunk only.
}

TEST_F(AstraPeer, ScalesWithoutEffectAreSaidToBe) {
  AstraReplayOptions options = bundled("all_reduce", 8);
  options.comm_scale = 2;
  options.compute_scale = 3;
  const AstraReplayResult result = replay_astra(options);
  EXPECT_EQ(result.outcome.cycles, 64440U);
  EXPECT_THAT(result.outcome.warnings, testing::Contains(testing::HasSubstr("comm-scale has no effect")));
  EXPECT_THAT(result.outcome.warnings, testing::Contains(testing::HasSubstr("compute-scale has no effect")));
}

TEST_F(AstraPeer, GraphOfTheNetworkFile) {
  astra::Warnings warnings;
  const topology::Cluster ring = astra_cluster(file("network/Ring_8npus.yml"), warnings);
  EXPECT_EQ(ring.graph.node_count(), 8U);
  EXPECT_EQ(ring.graph.edge_count(), 8U);
  const topology::Cluster hgx = astra_cluster(file("network/HGX-H100-validated.yml"), warnings);
  EXPECT_EQ(hgx.graph.node_count(), 9U);
  EXPECT_EQ(hgx.ranks.size(), 8U);
  EXPECT_EQ(hgx.graph.link(topology::LinkId{0U}).latency, picoseconds(936250));
  EXPECT_EQ(hgx.graph.link(topology::LinkId{0U}).bandwidth, Bandwidth::bytes_per_second(400LL << 30));
}

}  // namespace
}  // namespace orrery::app
