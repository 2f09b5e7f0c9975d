// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/load_cluster.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <ctime>
#include <filesystem>

#include "orrery/testing/temporary_folder.hpp"

namespace orrery::topology {
namespace {

using testing::AllOf;
using testing::HasSubstr;

std::string error_of(const std::string& text) {
  try {
    static_cast<void>(load_cluster(text));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(LoadCluster, GeneratorInOneLine) {
  const Cluster cluster = load_cluster("star:hosts=64, bandwidth=200Gbps, latency=500ns, device=h100_sxm");
  EXPECT_EQ(cluster.ranks.size(), 64U);
  EXPECT_EQ(cluster.devices[0].name, "h100_sxm");
  EXPECT_GT(cluster.devices[0].peak.per_second, 9e14);
}

TEST(LoadCluster, NativeFile) {
  const test::TemporaryFolder folder;
  const Cluster cluster = load_cluster(
      folder.write("orrery_two.yaml",
                   "nodes: {a: {count: 2}}\nlinks: {'a[0] - a[1]': {bandwidth: 1Gbps, latency: 1us}}\n"));
  EXPECT_EQ(cluster.name, "orrery_two");
  EXPECT_EQ(cluster.ranks.size(), 2U);
}

TEST(LoadCluster, InfraGraphFileIsSeenFromItsKeys) {
  const test::TemporaryFolder folder;
  const std::string path = folder.write("orrery_infragraph.yaml", R"(
name: two
devices:
- name: server
  components:
  - {name: npu, count: 1, choice: xpu}
  - {name: port, count: 1, choice: port}
  links: [{name: pcie}]
  edges:
  - {ep1: {component: 'npu[0]'}, ep2: {component: 'port[0]'}, scheme: one2one, link: pcie}
links: [{name: eth}]
instances: [{name: host, device: server, count: 2}]
edges:
- ep1: {instance: 'host[0]', component: 'port[0]'}
  ep2: {instance: 'host[1]', component: 'port[0]'}
  scheme: one2one
  link: eth
)");
  const std::string error = error_of(path);
  EXPECT_THAT(error, testing::Not(HasSubstr("unknown key"))) << "read as a native file";
}

TEST(LoadCluster, PresetByName) { EXPECT_EQ(load_cluster("jetson-lan").ranks.size(), 4U); }

TEST(LoadCluster, NamesTheNearestWhenNothingFits) {
  EXPECT_THAT(error_of("stra:hosts=4"), HasSubstr("did you mean 'star'?"));
  EXPECT_THAT(error_of("hgx-h10"), HasSubstr("did you mean 'hgx-h100'?"));
  EXPECT_THAT(error_of("nowhere.yaml"), AllOf(HasSubstr("--cluster: 'nowhere.yaml': file not found"),
                                              HasSubstr("rail_optimized"), HasSubstr("laptop")));
  EXPECT_THAT(error_of(""), HasSubstr("file not found"));
}

TEST(LoadCluster, AFolderIsNotACluster) { EXPECT_NE(error_of(testing::TempDir()), "no error"); }

TEST(LoadCluster, OptionsNameTheSourceAndTheCatalogue) {
  LoadOptions options;
  options.source = "study.yaml";
  options.catalog = "/nowhere";
  try {
    static_cast<void>(load_cluster("hgx-h100", options));
    FAIL() << "there is no preset in /nowhere";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("study.yaml: 'hgx-h100': file not found"));
  }
}

/// Goal: sizes that real machines have are built at once. Processor time, so that a busy machine does not matter;
/// the bound is about ten times what was measured.
TEST(LoadCluster, SixteenThousandGpusAreBuiltAtOnce) {
  const std::clock_t begin = std::clock();
  EXPECT_EQ(
      load_cluster(
          "rail_optimized:hosts=2048,nvlink_bandwidth=450GBps,nvlink_latency=155ns,nic_bandwidth=400Gbps,"
          "nic_latency=500ns")
          .ranks.size(),
      16'384U);
  EXPECT_EQ(load_cluster("fattree:k=32,bandwidth=400Gbps,latency=500ns").ranks.size(), 8'192U);
  EXPECT_LT(static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC, 0.5);
}

}  // namespace
}  // namespace orrery::topology
