// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/cluster_file.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::topology {
namespace {

using testing::ElementsAre;

Cluster read(std::string_view text) {
  const config::Document document = config::Document::parse(text, "c.yaml");
  return read_cluster(document, Catalog{}, builtin_generators());
}

std::vector<std::string> rank_names(const Cluster& cluster) {
  std::vector<std::string> names;
  for (const NodeId node : cluster.ranks) names.push_back(cluster.graph.name(node));
  return names;
}

LinkId link_between(const Cluster& cluster, std::string_view from, std::string_view to) {
  const NodeId target = cluster.graph.find(to);
  for (const Hop& hop : cluster.graph.hops(cluster.graph.find(from))) {
    if (hop.target == target) return hop.link;
  }
  return {};
}

constexpr const char* kEdge = R"(
nodes:
  jetson: {count: 3, device: jetson_orin}
  phone: {device: phone}
  ap: {kind: switch}
devices:
  phone: {peak: 2Tflops, memory: 8GiB, memory_bandwidth: 50GBps, compute_scale: 4, send_overhead: 20us}
links:
  jetson[*] - ap: {bandwidth: 1Gbps, latency: 50us}
  phone - ap: {bandwidth: 100Mbps, latency: 2ms, duplex: half}
)";

TEST(ClusterFile, AnEdgeLanInTwelveLines) {
  const Cluster cluster = read(kEdge);
  EXPECT_EQ(cluster.name, "c");
  EXPECT_THAT(rank_names(cluster), ElementsAre("jetson[0]", "jetson[1]", "jetson[2]", "phone[0]"));
  EXPECT_EQ(cluster.graph.edge_count(), 4U);
  EXPECT_EQ(cluster.graph.link_count(), 7U) << "the phone's radio is half duplex";
  ASSERT_EQ(cluster.devices.size(), 2U);
  EXPECT_THAT(cluster.device_of_rank, ElementsAre(0, 0, 0, 1));
  EXPECT_EQ(cluster.devices[0].name, "jetson_orin");
  EXPECT_EQ(cluster.devices[0].memory, Bytes{16'000'000'000});
  EXPECT_EQ(cluster.devices[1].compute_scale, 4.0);
  EXPECT_EQ(cluster.devices[1].send_overhead, Duration{20'000'000});
  EXPECT_TRUE(cluster.warnings.empty());
}

constexpr const char* kHosts = R"(
templates:
  hgx:
    nodes:
      gpu: {count: 4, device: h100_sxm}
      nvswitch: {kind: switch}
      nic: {kind: nic, count: 2}
    links:
      gpu[*] - nvswitch: {bandwidth: 450GBps, latency: 155ns}
      gpu[i] - nic[i/2]: {bandwidth: 64GBps, latency: 300ns}
nodes:
  host: {template: hgx, count: 3}
  leaf: {kind: switch, count: 2}
links:
  host[*].nic[r] - leaf[r]: {bandwidth: 400Gbps, latency: 500ns, count: 2}
  leaf[*]: {shape: full, bandwidth: 400Gbps, latency: 200ns}
)";

TEST(ClusterFile, TemplatesRepeatAndVariablesKeepTheirValue) {
  const Cluster cluster = read(kHosts);
  EXPECT_EQ(cluster.graph.node_count(), 3U * 7 + 2);
  EXPECT_EQ(cluster.graph.edge_count(), 3U * (4 + 4 + 2 * 2) + 1);
  EXPECT_EQ(cluster.graph.component_count(), 1U);
  EXPECT_EQ(cluster.ranks.size(), 12U);
  EXPECT_TRUE(link_between(cluster, "host[2].gpu[3]", "host[2].nic[1]").is_valid());
  EXPECT_FALSE(link_between(cluster, "host[2].gpu[3]", "host[2].nic[0]").is_valid());
  EXPECT_FALSE(link_between(cluster, "host[0].nic[0]", "leaf[1]").is_valid());
  EXPECT_EQ(cluster.node_group[cluster.ranks[5].index()], "host[1]");
}

TEST(ClusterFile, NodesMayHoldNodesWithoutATemplate) {
  const Cluster cluster = read(R"(
nodes:
  rack:
    count: 2
    nodes:
      host:
        count: 2
        nodes: {gpu: {count: 2}, hub: {kind: switch}}
        links: {"gpu[*] - hub": {bandwidth: 1Gbps, latency: 1us}}
      tor: {kind: switch}
    links:
      host[*].hub - tor: {bandwidth: 1Gbps, latency: 1us}
links:
  - {between: "rack[0].tor - rack[1].tor", bandwidth: 2Gbps, latency: 1us}
)");
  EXPECT_EQ(cluster.graph.component_count(), 1U);
  EXPECT_EQ(cluster.ranks.size(), 8U);
  EXPECT_EQ(cluster.graph.name(cluster.ranks[7]), "rack[1].host[1].gpu[1]");
  EXPECT_EQ(cluster.node_group[cluster.ranks[7].index()], "rack[1]/host[1]");
}

TEST(ClusterFile, ShapesOfOnePattern) {
  const auto edges = [](const char* shape) {
    return read(fmt::format("nodes: {{g: {{count: 5}}}}\nlinks: {{'g[*]': {{shape: {}, bandwidth: 1Gbps, "
                            "latency: 1us}}}}",
                            shape))
        .graph.edge_count();
  };
  EXPECT_EQ(edges("full"), 10U);
  EXPECT_EQ(edges("ring"), 5U);
  EXPECT_EQ(edges("chain"), 4U);
}

TEST(ClusterFile, ArithmeticRunsFromLeftToRight) {
  const Cluster cluster =
      read("nodes: {g: {count: 8}}\nlinks: {'g[i] - g[i+1%8]': {bandwidth: 1Gbps, latency: 1us}}");
  EXPECT_EQ(cluster.graph.edge_count(), 8U);
  EXPECT_TRUE(link_between(cluster, "g[7]", "g[0]").is_valid());
}

TEST(ClusterFile, TheTwoDirectionsMayDiffer) {
  const Cluster cluster =
      read("nodes: {a: , b: }\nlinks: {a - b: {bandwidth: 20Mbps, back_bandwidth: 200Mbps, latency: 5ms}}");
  EXPECT_EQ(cluster.graph.link(link_between(cluster, "a[0]", "b[0]")).bandwidth,
            Bandwidth::bits_per_second(20'000'000));
  EXPECT_EQ(cluster.graph.link(link_between(cluster, "b[0]", "a[0]")).bandwidth,
            Bandwidth::bits_per_second(200'000'000));
}

TEST(ClusterFile, SeveralKindsOfCableBetweenTheSameNodes) {
  const Cluster cluster = read(
      "nodes: {a: , b: }\nlinks: {a - b: [{bandwidth: 1Gbps, latency: 1us}, {bandwidth: 2Gbps, latency: 1us, "
      "count: 3}]}");
  EXPECT_EQ(cluster.graph.edge_count(), 4U);
}

TEST(ClusterFile, OverridesReplaceValuesOfSomeDevicesAndLinks) {
  const Cluster cluster = read(std::string{kEdge} + R"(
overrides:
  jetson[1:3]: {compute_scale: 1.5}
  jetson[2] - ap: {bandwidth: 100Mbps}
  ap -> jetson[0]: {latency: 1ms}
)");
  EXPECT_THAT(cluster.device_of_rank, ElementsAre(0, 2, 2, 1));
  EXPECT_EQ(cluster.devices[2].compute_scale, 1.5);
  EXPECT_EQ(cluster.devices[2].memory, cluster.devices[0].memory);
  EXPECT_EQ(cluster.devices[2].name, "jetson_orin");
  for (const auto& [from, to] : {std::pair{"jetson[2]", "ap[0]"}, std::pair{"ap[0]", "jetson[2]"}}) {
    EXPECT_EQ(cluster.graph.link(link_between(cluster, from, to)).bandwidth,
              Bandwidth::bits_per_second(100'000'000));
  }
  EXPECT_EQ(cluster.graph.link(link_between(cluster, "ap[0]", "jetson[0]")).latency, Duration{1'000'000'000});
  EXPECT_EQ(cluster.graph.link(link_between(cluster, "jetson[0]", "ap[0]")).latency, Duration{50'000'000});
}

TEST(ClusterFile, PlacementByRule) {
  const std::string hosts =
      "nodes: {host: {count: 2, nodes: {gpu: {count: 2}, s: {kind: switch}}, links: {'gpu[*] - s': "
      "{bandwidth: 1Gbps, latency: 1us}}}}\n";
  EXPECT_THAT(rank_names(read(hosts + "ranks: {by: rail}")),
              ElementsAre("host[0].gpu[0]", "host[1].gpu[0]", "host[0].gpu[1]", "host[1].gpu[1]"));
  EXPECT_THAT(rank_names(read(hosts + "ranks: {per_device: 2, on: 'host[1]'}")),
              ElementsAre("host[1].gpu[0]", "host[1].gpu[0]", "host[1].gpu[1]", "host[1].gpu[1]"));
  EXPECT_THAT(
      rank_names(read(hosts + "ranks: {by: round_robin, per_device: 2, on: 'host[1].gpu[*]', count: 3}")),
      ElementsAre("host[1].gpu[0]", "host[1].gpu[1]", "host[1].gpu[0]"));
  EXPECT_THAT(rank_names(read(hosts + "ranks: ['host[1].gpu[1]', 'host[0]', 'host[1].gpu[1]']")),
              ElementsAre("host[1].gpu[1]", "host[0].gpu[0]", "host[0].gpu[1]", "host[1].gpu[1]"));
}

TEST(ClusterFile, PlacementByHostGathersWhatTheFileScatters) {
  const Cluster cluster = read(R"(
nodes: {a: {count: 2}, b: {count: 2}, s: {kind: switch}}
links: {"a[*] - s": {bandwidth: 1Gbps, latency: 1us}, "b[*] - s": {bandwidth: 1Gbps, latency: 1us}}
groups: {"rack[0]": ["a[0]", "b[0]"], "rack[1]": ["a[1]", "b[1]"]}
ranks: {by: host}
)");
  EXPECT_THAT(rank_names(cluster), ElementsAre("a[0]", "b[0]", "a[1]", "b[1]"));
  EXPECT_EQ(cluster.node_group[0], "rack[0]");
}

TEST(ClusterFile, GroupsStandBeforeTheHost) {
  const Cluster cluster =
      read(std::string{kHosts} + "groups: {'rack[0]': 'host[0:2]', 'rack[1]': 'host[2]'}\n");
  EXPECT_EQ(cluster.node_group[cluster.graph.find("host[1].gpu[0]").index()], "rack[0]/host[1]");
  EXPECT_EQ(cluster.node_group[cluster.graph.find("leaf[0]").index()], "");
}

TEST(ClusterFile, EventsAreSortedAndEnd) {
  const Cluster cluster = read(std::string{kEdge} + R"(
events:
  - {at: 20ms, link: 'jetson[0] - ap', state: down, for: 5ms}
  - {at: 10ms, link: 'jetson[1] -> ap', bandwidth: 10Mbps, latency: 1ms}
jitter:
  jetson[*] -> ap: 100us
  jetson[2] -> ap: 1ms
)");
  ASSERT_EQ(cluster.events.size(), 5U);
  EXPECT_EQ(cluster.events[0].at, Time{Duration{10'000'000'000}});
  EXPECT_EQ(cluster.events[0].link, link_between(cluster, "jetson[1]", "ap[0]"));
  EXPECT_EQ(cluster.events[0].bandwidth, Bandwidth::bits_per_second(10'000'000));
  EXPECT_FALSE(cluster.events[0].up.has_value());
  EXPECT_EQ(cluster.events[1].up, false);
  EXPECT_EQ(cluster.events[3].up, true);
  EXPECT_EQ(cluster.events[3].at, Time{Duration{25'000'000'000}});
  ASSERT_EQ(cluster.jitter.size(), 3U);
  EXPECT_EQ(cluster.jitter[2].amplitude, Duration{1'000'000'000});
}

TEST(ClusterFile, AGeneratorMayBeExtended) {
  const Cluster cluster = read(R"(
name: lab
topology: {star: {hosts: 4, bandwidth: 100Gbps, latency: 1us, device: fast}}
devices: {fast: {base: h100_sxm, compute_scale: 0.5}}
nodes: {storage: {kind: other}}
links: {storage - switch: {bandwidth: 400Gbps, latency: 1us}}
overrides: {"host[3] - switch[0]": {bandwidth: 10Gbps}}
ranks: {count: 3}
)");
  EXPECT_EQ(cluster.name, "lab");
  EXPECT_EQ(cluster.graph.edge_count(), 5U);
  EXPECT_EQ(cluster.ranks.size(), 3U);
  EXPECT_EQ(cluster.devices[0].compute_scale, 0.5);
  EXPECT_EQ(cluster.devices[0].name, "h100_sxm");
  EXPECT_THAT(cluster.warnings, ElementsAre("1 of 4 devices hold no rank"));
}

TEST(ClusterFile, WarnsOfUnconnectedParts) {
  EXPECT_THAT(read("nodes: {a: {count: 2}}").warnings, ElementsAre("the graph is in 2 unconnected parts"));
}

}  // namespace
}  // namespace orrery::topology
