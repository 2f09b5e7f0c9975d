// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/router.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <map>
#include <set>

#include "orrery/base/error.hpp"
#include "orrery/base/rng.hpp"

namespace orrery::topology {
namespace {

using namespace std::chrono_literals;

LinkSpec cable(Duration latency, std::int64_t gigabits = 100) {
  return {.bandwidth = Bandwidth::bits_per_second(gigabits * 1'000'000'000), .latency = latency};
}

/// `count` hosts on one switch (node 0).
Graph star(int count) {
  Graph graph;
  const NodeId hub = graph.add_node("switch[0]", NodeKind::kSwitch);
  for (int i = 0; i < count; ++i) {
    graph.connect(graph.add_node(fmt::format("host[{}]", i), NodeKind::kDevice), hub, cable(1us));
  }
  graph.finish();
  return graph;
}

/// Hosts 0.. under each of two leaves (nodes 0, 1) joined by `spines` switches.
Graph two_leaves(int spines, int hosts) {
  Graph graph;
  const NodeId leaves[] = {graph.add_node("leaf[0]", NodeKind::kSwitch),
                           graph.add_node("leaf[1]", NodeKind::kSwitch)};
  for (int i = 0; i < spines; ++i) {
    const NodeId spine = graph.add_node(fmt::format("spine[{}]", i), NodeKind::kSwitch);
    for (const NodeId leaf : leaves) graph.connect(leaf, spine, cable(1us));
  }
  for (int i = 0; i < 2 * hosts; ++i) {
    graph.connect(graph.add_node(fmt::format("host[{}]", i), NodeKind::kDevice), leaves[i % 2], cable(1us));
  }
  graph.finish();
  return graph;
}

struct Oracle {
  std::vector<std::int64_t> hops;  // -1: unreachable.
  std::vector<std::int64_t> latency;
};

/// Bellman-Ford on (hops, latency): slow, and nothing like the search under test.
Oracle brute_force(const Graph& graph, NodeId source) {
  constexpr std::pair<std::int64_t, std::int64_t> kFar{1 << 30, 0};
  std::vector<std::pair<std::int64_t, std::int64_t>> best(graph.node_count(), kFar);
  best[source.index()] = {0, 0};
  for (bool changed = true; changed;) {
    changed = false;
    for (std::size_t node = 0; node < graph.node_count(); ++node) {
      if (best[node] == kFar) continue;
      for (const Hop& hop : graph.hops(NodeId{node})) {
        const std::pair next{best[node].first + 1, best[node].second + graph.link(hop.link).latency.count()};
        if (next >= best[hop.target.index()]) continue;
        best[hop.target.index()] = next;
        changed = true;
      }
    }
  }
  Oracle oracle;
  for (const auto& [hops, latency] : best) {
    oracle.hops.push_back(hops == kFar.first ? -1 : hops);
    oracle.latency.push_back(latency);
  }
  return oracle;
}

/// Follows the links and fails the test when they do not lead from source to target.
void expect_connected(const Graph& graph, NodeId source, NodeId target, std::span<const LinkId> links) {
  NodeId node = source;
  for (const LinkId link : links) {
    const auto hops = graph.hops(node);
    const auto hop = std::ranges::find(hops, link, &Hop::link);
    ASSERT_NE(hop, hops.end()) << graph.link_name(link) << " does not leave " << graph.name(node);
    node = hop->target;
  }
  EXPECT_EQ(node, target);
}

/// Few nodes, some parallel and half-duplex cables, few latencies (so that there are ties) that differ by
/// direction, often cut in two.
Graph random_graph(Rng& rng) {
  Graph graph;
  const std::int64_t nodes = rng.between(2, 24);
  for (std::int64_t i = 0; i < nodes; ++i) {
    static_cast<void>(graph.add_node(fmt::format("n[{}]", i), NodeKind::kOther));
  }
  const std::int64_t cables = rng.between(1, nodes * 2);
  for (std::int64_t i = 0; i < cables; ++i) {
    const NodeId a{static_cast<std::size_t>(rng.between(0, nodes - 1))};
    const NodeId b{static_cast<std::size_t>(rng.between(0, nodes - 1))};
    if (a == b) continue;
    const bool is_half_duplex = rng.between(0, 3) == 0;
    const LinkId forward = graph.connect(a, b, cable(Duration{rng.between(0, 3)}), is_half_duplex);
    if (!is_half_duplex) graph.set_link(LinkId{forward.index() + 1}, cable(Duration{rng.between(0, 3)}));
  }
  graph.finish();
  return graph;
}

TEST(Router, AgreesWithBruteForceOnRandomGraphs) {
  Rng rng{20240817, "router_test"};
  for (int round = 0; round < 300; ++round) {
    const Graph graph = random_graph(rng);
    Router router{graph};
    for (std::size_t source = 0; source < graph.node_count(); ++source) {
      const Oracle oracle = brute_force(graph, NodeId{source});
      for (std::size_t target = 0; target < graph.node_count(); ++target) {
        if (oracle.hops[target] < 0) {
          EXPECT_THROW(static_cast<void>(router.route(NodeId{source}, NodeId{target})), InputError);
          continue;
        }
        const Route route = router.get(router.route(NodeId{source}, NodeId{target}, 7));
        ASSERT_EQ(static_cast<std::int64_t>(route.links.size()), oracle.hops[target]) << "round " << round;
        ASSERT_EQ(route.latency.count(), oracle.latency[target]) << "round " << round;
        expect_connected(graph, NodeId{source}, NodeId{target}, route.links);
      }
    }
  }
}

TEST(Router, QueryOrderDoesNotMatter) {
  const Graph graph = two_leaves(8, 6);
  using Query = std::tuple<std::size_t, std::size_t, std::uint32_t>;
  std::vector<Query> queries;
  for (std::size_t a = 0; a < graph.node_count(); ++a) {
    for (std::size_t b = 0; b < graph.node_count(); ++b) {
      for (std::uint32_t label = 0; label < 3; ++label) queries.emplace_back(a, b, label);
    }
  }
  const auto answers = [&](const std::vector<Query>& order) {
    Router router{graph};
    std::map<Query, std::vector<LinkId>> found;
    for (const auto& [a, b, label] : order) {
      const auto links = router.links(router.route(NodeId{a}, NodeId{b}, label));
      found[{a, b, label}].assign(links.begin(), links.end());
    }
    return found;
  };
  const auto in_order = answers(queries);
  Rng rng{1, "shuffle"};
  for (std::size_t i = queries.size() - 1; i > 0; --i) {
    std::swap(queries[i], queries[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(i)))]);
  }
  EXPECT_EQ(answers(queries), in_order);
}

TEST(Router, SourceIsTargetGivesNoLinks) {
  const Graph graph = star(3);
  Router router{graph};
  const Route route = router.get(router.route(NodeId{1U}, NodeId{1U}));
  EXPECT_TRUE(route.links.empty());
  EXPECT_EQ(route.latency, Duration{});
  EXPECT_EQ(route.bottleneck, Bandwidth{});
}

TEST(Router, SumsLatencyAndFindsTheBottleneck) {
  Graph graph;
  const NodeId a = graph.add_node("a", NodeKind::kDevice);
  const NodeId b = graph.add_node("b", NodeKind::kSwitch);
  const NodeId c = graph.add_node("c", NodeKind::kDevice);
  graph.connect(a, b, cable(2us, 400));
  graph.connect(b, c, cable(3us, 25));
  graph.finish();
  Router router{graph};
  const Route route = router.get(router.route(a, c));
  EXPECT_EQ(route.latency, Duration{5us});
  EXPECT_EQ(route.bottleneck, cable(0us, 25).bandwidth);
  EXPECT_EQ(router.route(a, c), router.route(a, c));
}

TEST(Router, SpreadsFlowsOverEqualPaths) {
  const Graph graph = two_leaves(8, 32);
  Router router{graph};
  std::map<std::uint32_t, int> flows_of_uplink;
  for (int a = 0; a < 64; a += 2) {
    for (int b = 1; b < 64; b += 2) {
      const auto links = router.links(
          router.route(graph.find(fmt::format("host[{}]", a)), graph.find(fmt::format("host[{}]", b))));
      ASSERT_EQ(links.size(), 4U);
      ++flows_of_uplink[links[1].value()];
    }
  }
  ASSERT_EQ(flows_of_uplink.size(), 8U);  // 1024 flows, 128 expected on each; 5 sigma is 53.
  for (const auto& [link, flows] : flows_of_uplink) EXPECT_NEAR(flows, 128, 53) << "link " << link;
}

TEST(Router, LabelsOfOnePairTakeDifferentPaths) {
  const Graph graph = two_leaves(8, 1);
  Router router{graph};
  std::set<std::uint32_t> uplinks;
  for (std::uint32_t label = 0; label < 100; ++label) {
    uplinks.insert(
        router.links(router.route(graph.find("host[0]"), graph.find("host[1]"), label))[1].value());
  }
  EXPECT_EQ(uplinks.size(), 8U);
}

TEST(Router, ParallelLinksShareFlowsUnlessOneIsFaster) {
  for (const bool equal : {true, false}) {
    Graph graph;
    const NodeId a = graph.add_node("a", NodeKind::kDevice);
    const NodeId b = graph.add_node("b", NodeKind::kDevice);
    const LinkId slow = graph.connect(a, b, cable(2us));
    const LinkId other = graph.connect(a, b, cable(equal ? 2us : 1us));
    graph.finish();
    Router router{graph};
    std::set<LinkId> used;
    for (std::uint32_t label = 0; label < 64; ++label) {
      used.insert(router.links(router.route(a, b, label))[0]);
    }
    EXPECT_EQ(used, equal ? std::set({slow, other}) : std::set({other}));
  }
}

TEST(Router, HalfDuplexLinkServesBothWays) {
  Graph graph;
  const NodeId a = graph.add_node("a", NodeKind::kDevice);
  const NodeId b = graph.add_node("b", NodeKind::kDevice);
  const LinkId link = graph.connect(a, b, cable(1us), true);
  graph.finish();
  Router router{graph};
  EXPECT_THAT(router.links(router.route(a, b)), testing::ElementsAre(link));
  EXPECT_THAT(router.links(router.route(b, a)), testing::ElementsAre(link));
}

TEST(Router, SaysWhereTheGraphIsCut) {
  Graph graph;
  for (int i = 0; i < 6; ++i) {
    static_cast<void>(graph.add_node(fmt::format("host[{}]", i), NodeKind::kDevice));
  }
  const NodeId hub = graph.add_node("switch[0]", NodeKind::kSwitch);
  for (std::size_t i = 0; i < 5; ++i) graph.connect(NodeId{i}, hub, cable(1us));
  graph.finish();
  Router router{graph};
  try {
    static_cast<void>(router.route(NodeId{0U}, NodeId{5U}));
    FAIL() << "no error";
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "no path from 'host[0]' to 'host[5]': 'host[0]' reaches 6 of 7 nodes (switch[0], host[1], host[2], "
        "host[3], ...), 'host[5]' has no link at all, and no link joins the two parts");
  }
}

TEST(Router, LinksStayValidWhileRoutesAreAdded) {
  const Graph graph = star(200);
  Router router{graph};
  const auto first = router.links(router.route(NodeId{1U}, NodeId{2U}));
  const std::vector<LinkId> copy(first.begin(), first.end());
  for (std::size_t a = 1; a < 200; ++a) {
    for (std::size_t b = 1; b < 200; ++b) static_cast<void>(router.route(NodeId{a}, NodeId{b}));
  }
  EXPECT_TRUE(std::ranges::equal(first, copy));
}

/// Hosts of 8 GPUs, each with an NVSwitch and a NIC per GPU; NIC r of a host hangs on a leaf of rail r.
Graph rail_optimised(int hosts, int hosts_per_leaf, int spines) {
  constexpr int kRails = 8;
  Graph graph;
  std::vector<NodeId> leaves;
  for (int i = 0; i < kRails * (hosts / hosts_per_leaf); ++i) {
    leaves.push_back(graph.add_node(fmt::format("leaf[{}]", i), NodeKind::kSwitch));
  }
  for (int i = 0; i < spines; ++i) {
    const NodeId spine = graph.add_node(fmt::format("spine[{}]", i), NodeKind::kSwitch);
    for (const NodeId leaf : leaves) graph.connect(leaf, spine, cable(500ns, 400));
  }
  for (int host = 0; host < hosts; ++host) {
    const NodeId nvswitch = graph.add_node(fmt::format("host[{}].nvswitch[0]", host), NodeKind::kSwitch);
    for (int rail = 0; rail < kRails; ++rail) {
      const NodeId gpu = graph.add_node(fmt::format("host[{}].gpu[{}]", host, rail), NodeKind::kDevice);
      const NodeId nic = graph.add_node(fmt::format("host[{}].nic[{}]", host, rail), NodeKind::kNic);
      graph.connect(gpu, nvswitch, cable(250ns, 3600));
      graph.connect(gpu, nic, cable(700ns, 512));
      graph.connect(nic, leaves[static_cast<std::size_t>(host / hosts_per_leaf * kRails + rail)],
                    cable(500ns, 400));
    }
  }
  graph.finish();
  return graph;
}

TEST(Router, ScalesToSixteenThousandGpus) {
  const Graph graph = rail_optimised(2048, 32, 32);
  std::vector<NodeId> gpus;
  for (std::size_t node = 0; node < graph.node_count(); ++node) {
    if (graph.kind(NodeId{node}) == NodeKind::kDevice) gpus.push_back(NodeId{node});
  }
  ASSERT_EQ(gpus.size(), 16384U);
  Router router{graph};
  Rng rng{7, "pairs"};
  const auto begin = std::chrono::steady_clock::now();
  std::size_t links = 0;
  for (int i = 0; i < 100'000; ++i) {
    const NodeId a = gpus[static_cast<std::size_t>(rng.between(0, 16383))];
    const NodeId b = gpus[static_cast<std::size_t>(rng.between(0, 16383))];
    links += router.links(router.route(a, b)).size();
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  RecordProperty("seconds", std::to_string(seconds.count()));
  EXPECT_GT(links, 500'000U);  // Most pairs are six hops apart.
  EXPECT_LT(seconds.count(), 30) << "an order of magnitude above what a loaded machine needs";
}

TEST(Router, AllPairsOfAStarAreQuick) {
  const Graph graph = star(256);
  Router router{graph};
  const auto begin = std::chrono::steady_clock::now();
  for (std::size_t a = 1; a <= 256; ++a) {
    for (std::size_t b = 1; b <= 256; ++b) static_cast<void>(router.route(NodeId{a}, NodeId{b}));
  }
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - begin;
  RecordProperty("nanoseconds_per_route", std::to_string(seconds.count() * 1e9 / 65536));
  EXPECT_LT(seconds.count(), 1);
}

}  // namespace
}  // namespace orrery::topology
