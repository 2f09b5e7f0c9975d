// SPDX-License-Identifier: Apache-2.0
// Goal: every generated topology has the size, degrees and cuts that its closed form says.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "orrery/topology/load_cluster.hpp"

namespace orrery::topology {
namespace {

constexpr const char* kCable = ",bandwidth=100Gbps,latency=500ns";
constexpr const char* kRail =
    ",nvlink_bandwidth=450GBps,nvlink_latency=300ns,nic_bandwidth=400Gbps,nic_latency=1us";

struct Size {
  std::string text;
  std::size_t nodes;
  std::size_t edges;
  std::size_t ranks;
};

std::ostream& operator<<(std::ostream& out, const Size& size) { return out << size.text; }

class GeneratedSize : public testing::TestWithParam<Size> {};

TEST_P(GeneratedSize, IsTheClosedForm) {
  const Size& expected = GetParam();
  const Cluster cluster = load_cluster(expected.text);
  EXPECT_EQ(cluster.graph.node_count(), expected.nodes);
  EXPECT_EQ(cluster.graph.edge_count(), expected.edges);
  EXPECT_EQ(cluster.ranks.size(), expected.ranks);
  EXPECT_EQ(cluster.device_of_rank.size(), expected.ranks);
  EXPECT_EQ(cluster.graph.component_count(), 1U);
  std::set<std::string> names;
  for (std::size_t node = 0; node < cluster.graph.node_count(); ++node) {
    names.insert(cluster.graph.name(NodeId{node}));
  }
  EXPECT_EQ(names.size(), expected.nodes) << "two nodes share a name";
}

INSTANTIATE_TEST_SUITE_P(
    Builtin, GeneratedSize,
    testing::Values(
        Size{std::string{"star:hosts=64"} + kCable, 65, 64, 64},
        Size{std::string{"star:hosts=1"} + kCable, 2, 1, 1},
        Size{std::string{"star:hosts=4,ranks_per_device=3"} + kCable, 5, 4, 12},
        Size{std::string{"switch:hosts=8"} + kCable, 9, 8, 8},
        Size{std::string{"ring:hosts=5"} + kCable, 5, 5, 5},
        Size{std::string{"ring:hosts=2"} + kCable, 2, 1, 2},
        Size{std::string{"mesh:dims=7"} + kCable, 7, 6, 7},
        Size{std::string{"mesh:dims=4x3"} + kCable, 12, 17, 12},
        Size{std::string{"mesh:dims=4x4x4"} + kCable, 64, 144, 64},
        Size{std::string{"torus:dims=4x4x4"} + kCable, 64, 192, 64},
        Size{std::string{"torus:dims=2x4"} + kCable, 8, 12, 8},
        Size{std::string{"torus:dims=1x5"} + kCable, 5, 5, 5},
        Size{std::string{"fully_connected:hosts=8"} + kCable, 8, 28, 8},
        // k^3/4 hosts, 5k^2/4 switches, 3k^3/4 cables.
        Size{std::string{"fattree:k=4"} + kCable, 16 + 20, 48, 16},
        Size{std::string{"fattree:k=16"} + kCable, 1024 + 320, 3072, 1024},
        // k^2/2 hosts, 3k/2 switches, k^2 cables.
        Size{std::string{"fattree:k=8,levels=2"} + kCable, 32 + 12, 64, 32},
        // 4 up, 12 down: 16 edges, 4 spines.
        Size{std::string{"fattree:k=16,levels=2,oversubscription=4"} + kCable, 128 + 18, 128 + 32, 128},
        Size{std::string{"fattree:k=16,levels=3,oversubscription=2"} + kCable, 1024 + 128 + 64 + 32,
             1024 + 128 * 4 + 64 * 8, 1024},
        // 5 of 16 hosts: 3 edges in 2 pods, 2 aggregations per pod, 4 cores.
        Size{std::string{"fattree:k=4,hosts=5"} + kCable, 5 + 3 + 4 + 4, 5 + 6 + 8, 5},
        Size{std::string{"fattree:k=4,hosts=2"} + kCable, 3, 2, 2},
        Size{std::string{"fattree:k=4,gpus_per_host=8,local_bandwidth=450GBps,local_latency=300ns"} + kCable,
             16 * 9 + 20, 16 * 8 + 48, 128},
        // 4 hosts fit one block: 8 leaves, 32 spines, a NIC per GPU, an NVSwitch per host.
        Size{std::string{"rail_optimized:hosts=4"} + kRail, 4 * 17 + 8 + 32, 4 * 24 + 8 * 32, 32},
        Size{std::string{"rail_optimized:hosts=4,spines=0"} + kRail, 4 * 17 + 8, 4 * 24, 32},
        Size{std::string{"rail_optimized:hosts=40,spines=8,leaf_radix=64"} + kRail, 40 * 17 + 16 + 8,
             40 * 24 + 16 * 32, 320},
        Size{std::string{"rail_optimized:hosts=3,gpus_per_host=1"} + kRail, 3 * 2 + 1, 3 * 2, 3},
        // g = a*h+1 = 9 groups: 36 routers, 72 hosts, 6 local cables a group, 36 global.
        Size{std::string{"dragonfly:a=4,p=2,h=2"} + kCable, 36 + 72, 72 + 54 + 36, 72},
        // 3 groups share 8 ports each: 4 cables per pair.
        Size{std::string{"dragonfly:a=4,p=2,h=2,groups=3"} + kCable, 12 + 24, 24 + 18 + 12, 24},
        Size{std::string{"dragonfly:a=4,p=2,h=2,groups=1"} + kCable, 12, 8 + 6, 8}));

std::set<std::size_t> degrees(const Cluster& cluster, NodeKind kind) {
  std::set<std::size_t> found;
  for (std::size_t node = 0; node < cluster.graph.node_count(); ++node) {
    if (cluster.graph.kind(NodeId{node}) == kind) found.insert(cluster.graph.hops(NodeId{node}).size());
  }
  return found;
}

/// Cables between hosts numbered below `middle` and the others.
std::size_t cut(const Cluster& cluster, std::uint32_t middle) {
  std::size_t crossing = 0;
  for (const Graph::Edge& edge : cluster.graph.edges()) {
    crossing += (edge.a.value() < middle) != (edge.b.value() < middle) ? 1U : 0U;
  }
  return crossing;
}

TEST(Generators, DegreesAreUniform) {
  EXPECT_EQ(degrees(load_cluster(std::string{"torus:dims=4x4x4"} + kCable), NodeKind::kDevice),
            (std::set<std::size_t>{6}));
  EXPECT_EQ(degrees(load_cluster(std::string{"mesh:dims=3x3"} + kCable), NodeKind::kDevice),
            (std::set<std::size_t>{2, 3, 4}));
  EXPECT_EQ(degrees(load_cluster(std::string{"fattree:k=8"} + kCable), NodeKind::kSwitch),
            (std::set<std::size_t>{8}));
  EXPECT_EQ(degrees(load_cluster(std::string{"fattree:k=8,levels=2"} + kCable), NodeKind::kSwitch),
            (std::set<std::size_t>{8}));
  // Dragonfly: p + (a-1) + h ports of every router are used when the groups are full.
  EXPECT_EQ(degrees(load_cluster(std::string{"dragonfly:a=4,p=2,h=2"} + kCable), NodeKind::kSwitch),
            (std::set<std::size_t>{7}));
  EXPECT_EQ(degrees(load_cluster(std::string{"rail_optimized:hosts=32"} + kRail), NodeKind::kNic),
            (std::set<std::size_t>{2}));
}

TEST(Generators, BisectionOfGrids) {
  EXPECT_EQ(cut(load_cluster(std::string{"mesh:dims=4x4"} + kCable), 8), 4U);
  EXPECT_EQ(cut(load_cluster(std::string{"torus:dims=4x4"} + kCable), 8), 8U);
  EXPECT_EQ(cut(load_cluster(std::string{"fully_connected:hosts=8"} + kCable), 4), 16U);
  EXPECT_EQ(cut(load_cluster(std::string{"ring:hosts=6"} + kCable), 3), 2U);
}

TEST(Generators, NamesAndValuesOfAStar) {
  const Cluster cluster = load_cluster("star:hosts=2,bandwidth=200Gbps,latency=500ns,duplex=half");
  EXPECT_EQ(cluster.graph.name(cluster.ranks[1]), "host[1]");
  EXPECT_TRUE(cluster.graph.find("switch[0]").is_valid());
  EXPECT_EQ(cluster.graph.link_count(), 2U);
  EXPECT_EQ(cluster.graph.link(LinkId{0U}).bandwidth, Bandwidth::bits_per_second(200'000'000'000));
  EXPECT_EQ(cluster.graph.link(LinkId{0U}).latency, Duration{500'000});
}

TEST(Generators, ASwitchSplitsItsLatencyExactly) {
  const Cluster cluster = load_cluster("switch:hosts=2,bandwidth=1Gbps,latency=7ps");
  const Graph::Edge& edge = cluster.graph.edges()[0];
  EXPECT_EQ(cluster.graph.link(edge.forward).latency + cluster.graph.link(edge.backward).latency,
            Duration{7});
}

TEST(Generators, RailsAreGroupedByHost) {
  const Cluster cluster = load_cluster(std::string{"rail_optimized:hosts=2"} + kRail);
  EXPECT_EQ(cluster.graph.name(cluster.ranks[9]), "host[1].gpu[1]");
  EXPECT_EQ(cluster.node_group[cluster.ranks[9].index()], "host[1]");
  EXPECT_EQ(cluster.node_group[cluster.graph.find("leaf[0]").index()], "block[0]");
}

TEST(Generators, DescribeTheirFields) {
  const GeneratorRegistry registry = builtin_generators();
  EXPECT_EQ(registry.names().front(), "star");
  for (const Generator& generator : registry.all()) {
    EXPECT_FALSE(generator.help.empty()) << generator.name;
    EXPECT_GE(generator.fields.size(), 5U) << generator.name;
  }
}

struct Mistake {
  std::string text;
  std::string message;
};

TEST(Generators, EveryMistakeIsNamed) {
  const std::vector<Mistake> mistakes{
      {"star:hosts=4", "--cluster: required key 'bandwidth' is missing"},
      {"star", "required key 'hosts' is missing"},
      {"star:hosts=0,bandwidth=1Gbps,latency=0ns", "hosts: '0': expected a number from 1 to 4"},
      {"star:hosts=5000000,bandwidth=1Gbps,latency=0ns", "hosts: '5000000': expected a number from 1 to 4"},
      {"star:hosts=4,bandwidth=1,latency=1us", "bandwidth: '1': expected a bandwidth with unit"},
      {"star:hosts=4,bandwidth=0Gbps,latency=1us", "bandwidth: '0Gbps': must be more than zero"},
      {"star:hosts=4,bandwith=1Gbps,latency=1us", "bandwith: unknown key (did you mean 'bandwidth'?)"},
      {"star:hosts=4,bandwidth=1Gbps,latency=1us,duplex=hlf",
       "duplex: 'hlf': expected one of: full, half (did you mean 'half'?)"},
      {"star:hosts", "'hosts': expected 'star:key=value,key=value'"},
      {"star:hosts=1,hosts=2", "hosts: given twice"},
      {"star:hosts=4,bandwidth=1Gbps,latency=1us,device=h100_sxn", "device: 'h100_sxn': no such device"},
      {"ring:hosts=1,bandwidth=1Gbps,latency=1us", "hosts: '1': expected a number from 2"},
      {"torus:dims=4x,bandwidth=1Gbps,latency=1us", "dims: '4x': expected 1 to 3 whole numbers joined by x"},
      {"torus:dims=2x2x2x2,bandwidth=1Gbps,latency=1us", "dims: '2x2x2x2': expected 1 to 3 whole numbers"},
      {"mesh:dims=2000x2000x2000,bandwidth=1Gbps,latency=1us",
       "this makes 8000000000 nodes; at most 4000000"},
      {"fully_connected:hosts=10000,bandwidth=1Gbps,latency=1us",
       "this makes 49995000 links; at most 16000000"},
      {"fattree:k=5,bandwidth=1Gbps,latency=1us,oversubscription=4",
       "k: '5': a fat tree needs switches with an even number"},
      {"fattree:k=16,bandwidth=1Gbps,latency=1us,oversubscription=3",
       "k=16 with oversubscription 3 gives 2.67 ports up"},
      {"fattree:k=4,levels=4,bandwidth=1Gbps,latency=1us", "levels: '4': expected a number from 2 to 3"},
      {"fattree:k=4,hosts=17,bandwidth=1Gbps,latency=1us", "hosts: '17': expected at most 16"},
      {"fattree:k=4,gpus_per_host=2,bandwidth=1Gbps,latency=1us",
       "gpus_per_host of 2 or more needs local_bandwidth"},
      {"fattree:k=4,local_latency=2us,bandwidth=1Gbps,latency=1us", "they need gpus_per_host of 2 or more"},
      {"fattree:k=4096,bandwidth=1Gbps,latency=1us", "nodes; at most 4000000 are accepted"},
      {std::string{"rail_optimized:hosts=4,leaf_radix=7"} + kRail,
       "leaf_radix=7 with oversubscription 1 gives 3.50 ports up"},
      {std::string{"rail_optimized:hosts=4,spines=5"} + kRail, "spines: '5': expected a divisor of 32"},
      {std::string{"rail_optimized:hosts=40,spines=0"} + kRail, "spines: '0': 40 hosts fill 2 blocks of 32"},
      {"dragonfly:a=4,p=2,h=2,groups=10,bandwidth=1Gbps,latency=1us", "groups: '10': expected at most 9"},
      {"dragonfly:a=4096,p=4096,h=4096,bandwidth=1Gbps,latency=1us", "nodes; at most 4000000 are accepted"},
  };
  for (const Mistake& mistake : mistakes) {
    try {
      static_cast<void>(load_cluster(mistake.text));
      ADD_FAILURE() << mistake.text << " was accepted";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr(mistake.message)) << mistake.text;
    }
  }
}

TEST(Generators, OtherSpellingsAndShortFields) {
  EXPECT_EQ(load_cluster("rail-optimised:hosts=2,bandwidth=200Gbps,latency=1us").ranks.size(), 16U);
  EXPECT_EQ(load_cluster("fat-tree:k=4,levels=2,bandwidth=1Gbps,latency=1us").ranks.size(), 8U);
  EXPECT_THROW(static_cast<void>(load_cluster("rail:hosts=2,bandwidth=1Gbps,nic_bandwidth=2Gbps")),
               InputError);
}

}  // namespace
}  // namespace orrery::topology
