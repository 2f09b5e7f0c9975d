// SPDX-License-Identifier: Apache-2.0
// Goal: the rules of docs/infragraph.md, one test for each. Upstream's own files: tests/peers.
#include "orrery/topology/infragraph/infragraph.hpp"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/topology/catalog.hpp"
#include "orrery/topology/infragraph/link_values.hpp"
#include "orrery/topology/infragraph/slice.hpp"

namespace orrery::topology {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

Cluster read(std::string_view text, bool lenient = false) {
  InfraGraphOptions options;
  options.lenient = lenient;
  return read_infragraph(config::Document::parse(text, "t.yaml"), options);
}

/// A file of one device "box" with the given components and edges (flow YAML), `count` instances of it.
std::string one_device(std::string_view components, std::string_view edges, int count = 1) {
  return fmt::format(
      "devices:\n"
      "- name: box\n"
      "  components: [{}]\n"
      "  links: [{{name: wire}}]\n"
      "  edges: [{}]\n"
      "instances: [{{name: host, device: box, count: {}}}]\n",
      components, edges, count);
}

std::string edge(std::string_view first, std::string_view second, std::string_view scheme) {
  return fmt::format("{{ep1: {{component: \"{}\"}}, ep2: {{component: \"{}\"}}, scheme: {}, link: wire}}",
                     first, second, scheme);
}

constexpr std::string_view kEightXpus =
    "{name: xpu, count: 8, choice: xpu}, {name: sw, count: 2, choice: switch}";

std::size_t edge_count(std::string_view first, std::string_view second, std::string_view scheme) {
  return read(one_device(kEightXpus, edge(first, second, scheme))).graph.edge_count();
}

bool joined(const Cluster& cluster, std::string_view a, std::string_view b) {
  const NodeId from = cluster.graph.find(a);
  const NodeId to = cluster.graph.find(b);
  if (!from.is_valid() || !to.is_valid()) return false;
  return std::ranges::any_of(cluster.graph.hops(from), [&](const Hop& hop) { return hop.target == to; });
}

TEST(InfraGraph, SlicesFollowPython) {
  const auto indices = [](std::string_view text) {
    const infragraph::Slice slice = infragraph::resolve_slice(text, 8);
    std::vector<std::int64_t> list;
    for (std::int64_t i = 0; i < slice.indices.size; ++i) list.push_back(slice.indices[i]);
    return list;
  };
  EXPECT_EQ(indices("").size(), 8U);
  EXPECT_EQ(indices(":").size(), 8U);
  EXPECT_THAT(indices("3"), ElementsAre(3));
  EXPECT_THAT(indices("-1"), ElementsAre(7));
  EXPECT_THAT(indices("1:3"), ElementsAre(1, 2));
  EXPECT_THAT(indices("::3"), ElementsAre(0, 3, 6));
  EXPECT_THAT(indices(":-6"), ElementsAre(0, 1));
  EXPECT_THAT(indices("6:"), ElementsAre(6, 7));
  EXPECT_THAT(indices("2:0:-1"), ElementsAre(2, 1));
  EXPECT_THAT(indices("::-4"), ElementsAre(7, 3));
  EXPECT_THAT(indices("6:99"), ElementsAre(6, 7));
  EXPECT_THAT(indices("5:2"), ElementsAre());
}

TEST(InfraGraph, ManyToManyWithItselfIsEveryPairOnce) {
  EXPECT_EQ(edge_count("xpu", "xpu", "many2many"), 28U);
}
TEST(InfraGraph, ManyToManyIsTheProduct) { EXPECT_EQ(edge_count("xpu", "sw", "many2many"), 16U); }
TEST(InfraGraph, OneToOneIsTheZip) { EXPECT_EQ(edge_count("xpu[0:2]", "sw", "one2one"), 2U); }
TEST(InfraGraph, OneToOneWithAnOpenSideTakesItsFirst) {
  EXPECT_EQ(edge_count("xpu", "sw[0:2]", "one2one"), 2U);
}

TEST(InfraGraph, NodesAreNamedAsUpstreamNamesThem) {
  const Cluster cluster = read(one_device(kEightXpus, edge("xpu", "sw", "many2many"), 2));
  EXPECT_EQ(cluster.graph.node_count(), 20U);
  EXPECT_EQ(cluster.graph.name(NodeId{0U}), "host.0.xpu.0");
  EXPECT_EQ(cluster.graph.name(NodeId{19U}), "host.1.sw.1");
  EXPECT_EQ(cluster.node_group[19], "host.1");
  EXPECT_TRUE(joined(cluster, "host.1.xpu.7", "host.1.sw.1"));
  EXPECT_FALSE(joined(cluster, "host.0.xpu.7", "host.1.sw.1"));
  EXPECT_EQ(cluster.graph.component_count(), 2U);
  EXPECT_THAT(cluster.warnings, testing::Contains(HasSubstr("in 2 parts")));
}

constexpr std::string_view kNested = R"(
name: nested
devices:
- name: card
  components: [{name: chip, count: 1, choice: nic}, {name: port, count: 2, choice: port}]
  links:
  - name: trace
    physical:
      bandwidth: {choice: gigabytes_per_second, gigabytes_per_second: 25}
      latency: {choice: ns, ns: 1.5}
  edges: [{ep1: {component: chip}, ep2: {component: port}, scheme: many2many, link: trace}]
- name: server
  components:
  - {name: xpu, count: 2, choice: xpu}
  - {name: card, count: 2, choice: device}
  - {name: slot, count: 1, choice: custom, custom: {type: pcie_slot}}
  links: [{name: bus}]
  edges:
  - {ep1: {component: xpu}, ep2: {device: "card[0:2]", component: "chip[0]"}, scheme: one2one, link: bus}
  - {ep1: {component: slot}, ep2: {component: "card.chip"}, scheme: many2many, link: bus}
links:
- name: cable
  physical: {bandwidth: {choice: gigabits_per_second, gigabits_per_second: 400}, latency: {choice: us}}
instances: [{name: host, device: server, count: 2}]
edges:
- ep1: {instance: "host[0]", component: "card.port"}
  ep2: {instance: "host[1]", component: "card.port"}
  scheme: one2one
  link: cable
)";

TEST(InfraGraph, DevicesNest) {
  const Cluster cluster = read(kNested);
  EXPECT_EQ(cluster.name, "nested");
  EXPECT_EQ(cluster.graph.node_count(), 18U);  // 2 x (2 + 2 x 3 + 1).
  EXPECT_EQ(cluster.graph.edge_count(), 20U);  // 2 x (2 + 2 + 2 x 2) + 4.
  EXPECT_TRUE(joined(cluster, "host.1.xpu.1", "host.1.card.1.chip.0"));
  EXPECT_TRUE(joined(cluster, "host.0.card.1.port.0", "host.1.card.1.port.0"));
  EXPECT_EQ(cluster.graph.component_count(), 1U);
  EXPECT_EQ(cluster.graph.kind(cluster.graph.find("host.0.slot.0")), NodeKind::kOther);
}

const LinkSpec& link_between(const Cluster& cluster, std::string_view a, std::string_view b) {
  for (const Hop& hop : cluster.graph.hops(cluster.graph.find(a))) {
    if (hop.target == cluster.graph.find(b)) return cluster.graph.link(hop.link);
  }
  throw std::runtime_error{"not joined"};
}

TEST(InfraGraph, LinkValuesComeFromFileThenTableThenFallback) {
  InfraGraphOptions options;
  options.link_defaults = {{"b*", Bandwidth::bits_per_second(8), std::nullopt},
                           {"*", std::nullopt, Duration{77}}};
  const Cluster cluster = read_infragraph(config::Document::parse(kNested, "t.yaml"), options);
  const LinkSpec& trace = link_between(cluster, "host.0.card.0.chip.0", "host.0.card.0.port.1");
  EXPECT_EQ(trace.bandwidth, Bandwidth::bytes_per_second(25'000'000'000));
  EXPECT_EQ(trace.latency, Duration{1500});
  const LinkSpec& bus = link_between(cluster, "host.0.xpu.0", "host.0.card.0.chip.0");
  EXPECT_EQ(bus.bandwidth, Bandwidth::bits_per_second(8));
  EXPECT_EQ(bus.latency, Duration{77});
  EXPECT_TRUE(cluster.warnings.empty());
  EXPECT_THAT(
      read(kNested).warnings,
      ElementsAre(
          "link 'bus': neither the file nor the table of defaults gives its bandwidth and latency; 100Gbps "
          "and 500ns assumed",
          "link 'cable': neither the file nor the table of defaults gives its latency; 500ns assumed"));
}

TEST(InfraGraph, PatternsOfTheTable) {
  EXPECT_TRUE(infragraph::matches("pcie*", "pcie_gen5"));
  EXPECT_TRUE(infragraph::matches("*a*b", "xaaabab"));
  EXPECT_TRUE(infragraph::matches("*", ""));
  EXPECT_FALSE(infragraph::matches("pcie", "pcie_gen5"));
  EXPECT_FALSE(infragraph::matches("*a*b", "xaaaba"));
}

TEST(InfraGraph, TransfersPerSecondCountSixteenLanesOfPcie) {
  std::string text = one_device(kEightXpus, edge("xpu", "sw", "many2many"));
  const auto replace = [&](std::string_view from, std::string_view to) {
    for (std::size_t at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  };
  replace("link: wire", "link: pcie");
  replace(
      "name: wire",
      "name: pcie, physical: {bandwidth: {choice: gigatransfers_per_second, gigatransfers_per_second: 32}}");
  EXPECT_EQ(link_between(read(text), "host.0.xpu.0", "host.0.sw.0").bandwidth,
            Bandwidth::bits_per_second(512'000'000'000));
}

std::string annotated(std::string_view annotations) {
  std::string text = "infrastructure:\n";
  const std::string inner = one_device(kEightXpus, edge("xpu", "sw", "many2many"), 2);
  for (std::size_t begin = 0; begin < inner.size();) {
    const std::size_t end = inner.find('\n', begin);
    text += "  " + inner.substr(begin, end + 1 - begin);
    begin = end + 1;
  }
  return text + fmt::format("annotations: {}\n", annotations);
}

TEST(InfraGraph, EveryXpuIsARankUnlessAnnotated) {
  EXPECT_EQ(read(annotated("{}")).ranks.size(), 16U);
  const Cluster cluster = read(annotated(
      R"({nodes: [{name: host.1.xpu.2, attributes: [{attribute: rank, value: "0,2"}]},
                  {name: "host[0]xpu[3]", attributes: [{attribute: rank, value: 1}]}]})"));
  ASSERT_EQ(cluster.ranks.size(), 3U);
  EXPECT_EQ(cluster.graph.name(cluster.ranks[0]), "host.1.xpu.2");
  EXPECT_EQ(cluster.graph.name(cluster.ranks[1]), "host.0.xpu.3");
  EXPECT_EQ(cluster.ranks[2], cluster.ranks[0]);
  EXPECT_EQ(cluster.device_of_rank.size(), 3U);
}

TEST(InfraGraph, WithoutXpusTheProcessorsAreRanks) {
  const Cluster cluster =
      read(one_device("{name: cpu, count: 2, choice: cpu}", edge("cpu", "cpu", "many2many")));
  EXPECT_EQ(cluster.ranks.size(), 2U);
  const Cluster box =
      read(one_device("{name: asic, count: 1, choice: cpu}, {name: port, count: 4, choice: port}",
                      edge("asic", "port", "many2many")));
  EXPECT_TRUE(box.ranks.empty());
  EXPECT_THAT(box.warnings, testing::Contains(HasSubstr("no node is a rank")));
}

TEST(InfraGraph, AnnotationsSetLinksAndEdges) {
  const Cluster cluster = read(annotated(
      R"({links: [{name: wire,
                   attributes: [{attribute: bandwidth, value: "200 Gbps"}, {attribute: colour, value: red}]}],
          edges: [{ep1: host.0.sw.0, ep2: host.0.xpu.1, attributes: [{attribute: latency, value: "5 ns"}]},
                  {ep1: "host[1]", ep2: "host[1]sw[1]",
                   attributes: [{attribute: bandwidth, value: "1 GBps"}, {attribute: duplex, value: half}]}]})"));
  EXPECT_EQ(link_between(cluster, "host.0.xpu.0", "host.0.sw.0").bandwidth,
            Bandwidth::bits_per_second(200'000'000'000));
  EXPECT_EQ(link_between(cluster, "host.0.xpu.1", "host.0.sw.0").latency, Duration{5000});
  EXPECT_EQ(link_between(cluster, "host.1.xpu.4", "host.1.sw.1").bandwidth,
            Bandwidth::bits_per_second(8'000'000'000));
  EXPECT_EQ(cluster.graph.link_count(), 2 * 32U - 8U);
}

TEST(InfraGraph, ABareDeviceIsOneInstanceOfIt) {
  const Cluster cluster =
      read("{name: card, components: [{name: p, count: 2, choice: port}], edges: [], links: []}");
  EXPECT_EQ(cluster.graph.name(NodeId{1U}), "card.0.p.1");
  EXPECT_THAT(cluster.warnings, testing::Contains(HasSubstr("2 nodes have no link, such as 'card.0.p.0'")));
}

TEST(InfraGraph, JsonIsReadAlike) {
  const Cluster cluster =
      read(R"({"devices": [{"name": "d", "components": [{"name": "xpu", "count": 2, "choice": "xpu"}],
    "links": [{"name": "l"}],
    "edges": [{"ep1": {"component": "xpu[0]"}, "ep2": {"component": "xpu[1]"}, "scheme": "one2one", "link": "l"}]}],
    "instances": [{"name": "i", "device": "d", "count": 3}], "edges": [], "links": []})");
  EXPECT_EQ(cluster.graph.edge_count(), 3U);
}

TEST(InfraGraph, LenientPassesOverWhatUpstreamPassesOver) {
  const auto count = [](std::string_view first, std::string_view second, std::string_view scheme) {
    const Cluster cluster = read(one_device(kEightXpus, edge(first, second, scheme), 2), true);
    return std::pair{cluster.graph.node_count(), cluster.graph.edge_count()};
  };
  EXPECT_EQ(count("xpu", "typo", "many2many"), std::pair(std::size_t{20}, std::size_t{0}));
  EXPECT_EQ(count("xpu[9]", "sw[0]", "one2one"),
            std::pair(std::size_t{22}, std::size_t{2}));  // Makes host.N.xpu.9.
  EXPECT_EQ(count("xpu[4:99]", "sw[0]", "many2many"), std::pair(std::size_t{20}, std::size_t{8}));
  EXPECT_EQ(count("xpu[0:5]", "sw[0:2]", "one2one"), std::pair(std::size_t{20}, std::size_t{4}));
  EXPECT_EQ(count("xpu[5:2]", "sw", "many2many"), std::pair(std::size_t{20}, std::size_t{0}));
}

TEST(InfraGraph, LimitsHoldBeforeAnythingIsAllocated) {
  InfraGraphOptions options;
  options.max_nodes = 1000;
  options.max_edges = 5000;
  const auto error = [&](const std::string& text) -> std::string {
    try {
      static_cast<void>(read_infragraph(config::Document::parse(text, "t.yaml"), options));
    } catch (const InputError& problem) {
      return problem.what();
    }
    return "no error";
  };
  EXPECT_THAT(error(one_device("{name: x, count: 1001, choice: xpu}", "")),
              HasSubstr("whole number from 0 to 1000"));
  EXPECT_THAT(error(one_device("{name: x, count: 500, choice: xpu}, {name: y, count: 501, choice: xpu}", "")),
              HasSubstr("more than the 1000 nodes"));
  EXPECT_THAT(error(one_device("{name: x, count: 500, choice: xpu}", "", 3)),
              HasSubstr("more than the 1000 nodes"));
  EXPECT_THAT(error(one_device("{name: x, count: 100, choice: xpu}", edge("x", "x", "many2many"))),
              HasSubstr("more pairs than are accepted"));
  EXPECT_THAT(error(one_device("{name: x, count: 50, choice: xpu}", edge("x", "x", "many2many"), 9)),
              HasSubstr("more than the 5000 edges"));
}

TEST(InfraGraph, DevicesWithoutNodesCostNothing) {
  const Cluster cluster = read(
      "devices:\n"
      "- {name: a, components: [{name: x, count: 2, choice: xpu}, {name: b, count: 4000000, choice: "
      "device}],\n"
      "   links: [{name: l}],\n"
      "   edges: [{ep1: {component: 'x[0]'}, ep2: {component: 'x[1]'}, scheme: one2one, link: l}]}\n"
      "- {name: b, components: [{name: c, count: 4000000, choice: device}]}\n"
      "- {name: c, components: []}\n"
      "instances: [{name: i, device: a, count: 1000}, {name: j, device: b, count: 4000000}]\n");
  EXPECT_EQ(cluster.graph.node_count(), 2000U);
  EXPECT_EQ(cluster.graph.edge_count(), 1000U);
}

TEST(InfraGraph, IsRecognised) {
  const auto is = [](std::string_view text) { return is_infragraph(config::Document::parse(text, "t")); };
  EXPECT_TRUE(is("{devices: [], instances: []}"));
  EXPECT_TRUE(is("{infrastructure: {}}"));
  EXPECT_TRUE(is("{devices: [{name: a, components: []}]}"));
  EXPECT_FALSE(is("{nodes: [], links: []}"));
  EXPECT_FALSE(is("[1]"));
}

TEST(InfraGraph, TheShippedTableOfDefaultsIsReadable) {
  const auto rows =
      read_link_defaults(config::Document::load(catalog_directory() + "/infragraph_links.yaml"));
  EXPECT_GT(rows.size(), 20U);
  EXPECT_EQ(rows.back().pattern, "*");
}

}  // namespace
}  // namespace orrery::topology
