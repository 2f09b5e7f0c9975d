// SPDX-License-Identifier: Apache-2.0
// Any cluster written as a native file reads back as the same cluster, and runs exactly alike.
#include "orrery/app/native_file.hpp"

#include <gmock/gmock.h>

#include "orrery/app/cluster_report.hpp"
#include "orrery/base/error.hpp"
#include "orrery/topology/catalog.hpp"
#include "orrery/topology/cluster_file.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::app {
namespace {

topology::Cluster read_back(const std::string& text) {
  const config::Document document = config::Document::parse(text, "copy.yaml");
  return topology::read_cluster(document, topology::Catalog{}, topology::builtin_generators());
}

TEST(NativeFile, EveryPresetAndSomeGeneratorsSurvive) {
  std::vector<std::string> names = topology::Catalog{}.cluster_names();
  names.insert(names.end(),
               {"fattree:k=4,bandwidth=100Gbps,latency=1us", "ring:hosts=5,bandwidth=1GBps,latency=3ns",
                "star:hosts=3,bandwidth=1GBps,latency=1us,duplex=half,ranks_per_device=2"});
  for (const std::string& name : names) {
    const topology::Cluster cluster = topology::load_cluster(name);
    const topology::Cluster copy = read_back(write_native(cluster));
    ASSERT_EQ(copy.graph.node_count(), cluster.graph.node_count()) << name;
    ASSERT_EQ(copy.graph.edge_count(), cluster.graph.edge_count()) << name;
    EXPECT_EQ(copy.ranks, cluster.ranks) << name;
    EXPECT_EQ(copy.node_group, cluster.node_group) << name;
    for (std::size_t i = 0; i < cluster.graph.link_count(); ++i) {
      const topology::LinkId link{i};
      EXPECT_EQ(copy.graph.link(link).bandwidth, cluster.graph.link(link).bandwidth) << name;
      EXPECT_EQ(copy.graph.link(link).latency, cluster.graph.link(link).latency) << name;
    }
    for (std::size_t i = 0; i < cluster.ranks.size(); ++i) {
      EXPECT_EQ(copy.devices[copy.device_of_rank[i]].peak, cluster.devices[cluster.device_of_rank[i]].peak)
          << name;
    }
  }
}

TEST(NativeFile, EventsAndJitterSurvive) {
  const topology::Cluster cluster = read_back(
      "topology: {star: {hosts: 2, bandwidth: 1GBps, latency: 1us}}\n"
      "events: [{at: 5us, link: \"host[0] -> switch\", state: down, for: 3ms}]\n"
      "jitter: {\"host[1] - switch\": 20ns}\n");
  const topology::Cluster copy = read_back(write_native(cluster));
  ASSERT_EQ(copy.events.size(), cluster.events.size());
  for (std::size_t i = 0; i < copy.events.size(); ++i) {
    EXPECT_EQ(copy.events[i].at, cluster.events[i].at);
    EXPECT_EQ(copy.events[i].link, cluster.events[i].link);
    EXPECT_EQ(copy.events[i].up, cluster.events[i].up);
  }
  ASSERT_EQ(copy.jitter.size(), cluster.jitter.size());
}

TEST(ClusterReport, UnreachableRanksAreNamed) {
  const topology::Cluster cluster = read_back(
      "nodes: {a: {count: 2}, b: {count: 2}}\n"
      "links: {\"a\": {shape: full, bandwidth: 1Gbps, latency: 1us},"
      " \"b\": {shape: full, bandwidth: 1Gbps, latency: 1us}}\n");
  try {
    check_reachable(cluster, "c.yaml");
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(error.what(),
                 "c.yaml: rank 0 (a[0]) cannot reach rank 2 (b[0]): no path of links joins them");
  }
}

}  // namespace
}  // namespace orrery::app
