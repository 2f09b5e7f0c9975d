// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/graph.hpp"

#include <gtest/gtest.h>

#include "orrery/base/check.hpp"

namespace orrery::topology {
namespace {

const LinkSpec kSpec{Bandwidth::bits_per_second(1'000'000'000), Duration{500'000}};

TEST(Graph, FullDuplexIsTwoLinksAndHalfDuplexOne) {
  Graph graph;
  const NodeId a = graph.add_node("a", NodeKind::kDevice);
  const NodeId b = graph.add_node("b", NodeKind::kSwitch);
  const NodeId c = graph.add_node("c", NodeKind::kDevice);
  EXPECT_EQ(graph.connect(a, b, kSpec), LinkId{0U});
  EXPECT_EQ(graph.connect(b, c, kSpec, true), LinkId{2U});
  graph.finish();
  EXPECT_EQ(graph.edge_count(), 2U);
  EXPECT_EQ(graph.link_count(), 3U);
  EXPECT_EQ(graph.link_name(LinkId{0U}), "a->b");
  EXPECT_EQ(graph.link_name(LinkId{1U}), "b->a");
  EXPECT_EQ(graph.link_name(LinkId{2U}), "b--c");
  EXPECT_EQ(graph.hops(c).front().link, LinkId{2U});
}

TEST(Graph, HopsAreSortedByTargetThenLink) {
  Graph graph;
  const NodeId hub = graph.add_node("hub", NodeKind::kSwitch);
  const NodeId x = graph.add_node("x", NodeKind::kDevice);
  const NodeId y = graph.add_node("y", NodeKind::kDevice);
  graph.connect(hub, y, kSpec);
  graph.connect(x, hub, kSpec);
  graph.connect(hub, y, kSpec);  // Parallel to the first.
  graph.finish();
  ASSERT_EQ(graph.hops(hub).size(), 3U);
  EXPECT_EQ(graph.hops(hub)[0].target, x);
  EXPECT_EQ(graph.hops(hub)[0].link, LinkId{3U});
  EXPECT_EQ(graph.hops(hub)[1].link, LinkId{0U});
  EXPECT_EQ(graph.hops(hub)[2].link, LinkId{4U});
}

TEST(Graph, CountsComponentsAndFindsNames) {
  Graph graph;
  const NodeId a = graph.add_node("a", NodeKind::kDevice);
  const NodeId b = graph.add_node("b", NodeKind::kDevice);
  graph.add_node("lonely", NodeKind::kDevice);
  graph.connect(a, b, kSpec);
  graph.finish();
  EXPECT_EQ(graph.component_count(), 2U);
  EXPECT_EQ(graph.find("b"), b);
  EXPECT_FALSE(graph.find("nobody").is_valid());
  EXPECT_TRUE(graph.hops(NodeId{2U}).empty());
}

TEST(Graph, ALinkMayChangeUntilTheGraphIsFinished) {
  Graph graph;
  const NodeId a = graph.add_node("a", NodeKind::kDevice);
  const NodeId b = graph.add_node("b", NodeKind::kDevice);
  const LinkId forward = graph.connect(a, b, kSpec);
  const LinkSpec slower{Bandwidth::bits_per_second(1'000'000), Duration{1}};
  graph.set_link(forward, slower);
  graph.finish();
  EXPECT_EQ(graph.link(forward).bandwidth, slower.bandwidth);
  EXPECT_EQ(graph.link(LinkId{1U}).bandwidth, kSpec.bandwidth);
  EXPECT_THROW(graph.set_link(forward, kSpec), Bug);
}

TEST(Graph, MisuseIsABug) {
  Graph graph;
  const NodeId a = graph.add_node("a", NodeKind::kDevice);
  const NodeId b = graph.add_node("b", NodeKind::kDevice);
  EXPECT_THROW(graph.connect(a, a, kSpec), Bug);
  EXPECT_THROW(graph.connect(a, b, LinkSpec{}), Bug);
  EXPECT_THROW(graph.connect(a, NodeId{7U}, kSpec), Bug);
  graph.finish();
  EXPECT_THROW(graph.finish(), Bug);
  EXPECT_THROW(graph.add_node("c", NodeKind::kDevice), Bug);
}

TEST(Graph, EveryKindHasAName) {
  EXPECT_EQ(to_text(NodeKind::kDevice), "device");
  EXPECT_EQ(to_text(NodeKind::kNic), "nic");
  EXPECT_EQ(to_text(NodeKind::kOther), "other");
}

}  // namespace
}  // namespace orrery::topology
