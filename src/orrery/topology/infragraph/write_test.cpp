// SPDX-License-Identifier: Apache-2.0
// Goal: what is written reads back as the same cluster, up to names and numbering.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "orrery/topology/infragraph/infragraph.hpp"
#include "orrery/topology/router.hpp"

namespace orrery::topology {
namespace {

using namespace std::chrono_literals;

LinkSpec cable(std::int64_t bits, Duration latency) {
  return {.bandwidth = Bandwidth::bits_per_second(bits), .latency = latency};
}

/// Two kinds of host, odd values, a half-duplex link, one with two speeds and a bundle of three cables.
Cluster mixed_cluster() {
  Cluster cluster;
  cluster.name = "mixed \"1\"";
  Graph& graph = cluster.graph;
  const NodeId hub = graph.add_node("switch[0]", NodeKind::kSwitch);
  for (int host = 0; host < 3; ++host) {
    const int gpus = host == 1 ? 2 : 4;
    const NodeId nic = graph.add_node(fmt::format("host[{}].nic[0]", host), NodeKind::kNic);
    for (int gpu = 0; gpu < gpus; ++gpu) {
      const NodeId device = graph.add_node(fmt::format("host[{}].gpu[{}]", host, gpu), NodeKind::kDevice);
      graph.connect(device, nic, cable(123'456'789'012, 1500ns));
      cluster.ranks.insert(cluster.ranks.begin(), device);  // Not in order.
    }
    const LinkId uplink = graph.connect(nic, hub, cable(100'000'000'001, Duration{7}), host == 2);
    if (host == 1) graph.set_link(LinkId{uplink.index() + 1}, cable(3, Duration{9}));
  }
  const NodeId store = graph.add_node("store", NodeKind::kOther);
  for (int i = 0; i < 3; ++i) graph.connect(store, hub, cable(1, 0ns));
  cluster.ranks.push_back(cluster.ranks.front());
  cluster.devices.emplace_back();
  cluster.device_of_rank.assign(cluster.ranks.size(), 0);
  graph.finish();
  return cluster;
}

Cluster round_trip(const Cluster& cluster) {
  const std::string text = write_infragraph(cluster);
  return read_infragraph(config::Document::parse(text, "written.yaml"));
}

using Values = std::multiset<std::tuple<std::int64_t, std::int64_t, bool>>;

Values link_values(const Graph& graph) {
  Values values;
  for (const Graph::Edge& edge : graph.edges()) {
    for (const LinkId link : {edge.forward, edge.backward}) {
      const LinkSpec& spec = graph.link(link);
      values.insert({spec.bandwidth.bits_per_second(), spec.latency.count(), edge.forward == edge.backward});
    }
  }
  return values;
}

/// Hops, latency and bottleneck between all ranks: what a simulation sees of a cluster.
std::vector<std::tuple<std::size_t, Duration, Bandwidth>> distances(const Cluster& cluster) {
  Router router{cluster.graph};
  std::vector<std::tuple<std::size_t, Duration, Bandwidth>> table;
  for (const NodeId source : cluster.ranks) {
    for (const NodeId target : cluster.ranks) {
      const Route route = router.get(router.route(source, target));
      table.emplace_back(route.links.size(), route.latency, route.bottleneck);
    }
  }
  return table;
}

void expect_alike(const Cluster& read, const Cluster& written) {
  EXPECT_EQ(read.graph.node_count(), written.graph.node_count());
  EXPECT_EQ(read.graph.edge_count(), written.graph.edge_count());
  EXPECT_EQ(link_values(read.graph), link_values(written.graph));
  EXPECT_EQ(read.ranks.size(), written.ranks.size());
  EXPECT_EQ(distances(read), distances(written));
}

TEST(InfraGraphWrite, MixedClusterReadsBackAlike) {
  const Cluster cluster = mixed_cluster();
  const Cluster again = round_trip(cluster);
  expect_alike(again, cluster);
  EXPECT_TRUE(again.warnings.empty()) << again.warnings.front();
  expect_alike(round_trip(again), cluster);
}

TEST(InfraGraphWrite, NamesAndPlacesAreKept) {
  const Cluster cluster = mixed_cluster();
  const Cluster again = round_trip(cluster);
  EXPECT_EQ(again.graph.name(again.ranks.front()),
            "host.1.gpu.3");  // host[2]: the two alike are numbered together.
  EXPECT_TRUE(again.graph.find("host_2.0.gpu.1").is_valid());
  EXPECT_EQ(again.graph.kind(again.graph.find("store.0.store.0")), NodeKind::kOther);
}

TEST(InfraGraphWrite, AlikeHostsShareADeviceAndRunsAreSlices) {
  Cluster cluster;
  Graph& graph = cluster.graph;
  const NodeId hub = graph.add_node("switch[0]", NodeKind::kSwitch);
  for (int host = 0; host < 64; ++host) {
    const NodeId cpu = graph.add_node(fmt::format("host[{}].cpu[0]", host), NodeKind::kCpu);
    for (int gpu = 0; gpu < 8; ++gpu) {
      const NodeId device = graph.add_node(fmt::format("host[{}].gpu[{}]", host, gpu), NodeKind::kDevice);
      graph.connect(device, cpu, cable(1'000'000'000, 1us));
      cluster.ranks.push_back(device);
    }
    graph.connect(cpu, hub, cable(2'000'000'000, 1us));
  }
  graph.finish();
  const std::string text = write_infragraph(cluster);
  EXPECT_LT(text.size(), 1500U) << text;
  EXPECT_THAT(text, testing::Not(testing::HasSubstr("annotations")));
  EXPECT_THAT(text, testing::HasSubstr("instance: \"host[0:64]\", component: \"cpu[0]\""));
  expect_alike(round_trip(cluster), cluster);
}

TEST(InfraGraphWrite, ParallelLinksThatDifferCannotBeSaid) {
  Cluster cluster;
  const NodeId a = cluster.graph.add_node("a", NodeKind::kDevice);
  const NodeId b = cluster.graph.add_node("b", NodeKind::kDevice);
  cluster.graph.connect(a, b, cable(1, 1us));
  cluster.graph.connect(b, a, cable(2, 1us));
  cluster.graph.finish();
  EXPECT_THROW(static_cast<void>(write_infragraph(cluster)), InputError);
}

TEST(InfraGraphWrite, NamesThatYamlWouldMisread) {
  Cluster cluster;
  for (const char* name : {"null", "7", "on", "a.b.c", "x[1][2]", "", "ü", "-"}) {
    const NodeId node = cluster.graph.add_node(name, NodeKind::kDevice);
    if (node.index() > 0) cluster.graph.connect(node, NodeId{0U}, cable(8, 1us));
    cluster.ranks.push_back(node);
  }
  cluster.graph.finish();
  expect_alike(round_trip(cluster), cluster);
}

}  // namespace
}  // namespace orrery::topology
