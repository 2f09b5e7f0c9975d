// SPDX-License-Identifier: Apache-2.0
// Goal: pictures are well-formed, the same every time, bounded in size, and put no label on another.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/topology/draw/bundles.hpp"
#include "orrery/topology/draw/picture.hpp"
#include "orrery/topology/draw/summary.hpp"
#include "orrery/topology/draw/svg.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::topology {
namespace {

using testing::HasSubstr;

const std::vector<std::string>& clusters() {
  static const std::vector<std::string> texts{
      "star:hosts=8,bandwidth=100Gbps,latency=500ns",
      "star:hosts=1,bandwidth=100Gbps,latency=500ns",
      "ring:hosts=6,bandwidth=100Gbps,latency=500ns",
      "ring:hosts=1024,bandwidth=100Gbps,latency=500ns",
      "torus:dims=4x4,bandwidth=100Gbps,latency=500ns",
      "torus:dims=8x8x8,bandwidth=100Gbps,latency=500ns",
      "mesh:dims=32x32,bandwidth=100Gbps,latency=500ns",
      "dragonfly:a=4,p=2,h=2,bandwidth=100Gbps,latency=500ns,global_latency=2us",
      "fattree:k=16,bandwidth=100Gbps,latency=500ns",
      "fattree:k=8,gpus_per_host=8,local_bandwidth=450GBps,local_latency=155ns,bandwidth=100Gbps,latency="
      "500ns",
      "rail_optimized:hosts=128,nvlink_bandwidth=450GBps,nvlink_latency=155ns,nic_bandwidth=400Gbps,nic_"
      "latency=500ns",
      "hgx-h100",
      "hgx-h100x4",
      "mi300x-host",
      "gb200-nvl72",
      "jetson-lan",
  };
  return texts;
}

class Drawn : public testing::TestWithParam<std::string> {};

/// Every tag is closed in order, and text holds no bare '<' or '&'.
bool is_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  for (std::size_t at = 0; at < xml.size(); ++at) {
    if (xml[at] == '&' && xml.substr(at, 5) != "&amp;" && xml.substr(at, 4) != "&lt;" &&
        xml.substr(at, 4) != "&gt;" && xml.substr(at, 6) != "&quot;") {
      return false;
    }
    if (xml[at] != '<') continue;
    const std::size_t end = xml.find('>', at);
    if (end == std::string::npos) return false;
    const std::string tag = xml.substr(at + 1, end - at - 1);
    const std::string name = tag.substr(tag[0] == '/' ? 1 : 0, tag.find(' '));
    if (tag[0] == '/') {
      if (open.empty() || open.back() != tag.substr(1)) return false;
      open.pop_back();
    } else if (tag.back() != '/') {
      open.push_back(name);
    }
    at = end;
  }
  return open.empty();
}

TEST_P(Drawn, IsWellFormedAndStable) {
  const Cluster cluster = load_cluster(GetParam());
  const std::string svg = draw_svg(cluster);
  EXPECT_TRUE(is_well_formed(svg));
  EXPECT_EQ(svg, draw_svg(load_cluster(GetParam())));
  EXPECT_LT(svg.size(), 100'000U) << "a picture nobody can read";
  EXPECT_THAT(svg, HasSubstr(cluster.name));
}

TEST_P(Drawn, NoMarkCoversAnother) {
  const Cluster cluster = load_cluster(GetParam());
  const Bundles bundles = bundle_links(cluster.graph);
  for (const Picture& picture :
       {lay_out_grid(cluster, bundles), lay_out_circle(cluster, bundles), lay_out_tiers(cluster, bundles)}) {
    for (std::size_t a = 0; a < picture.marks.size(); ++a) {
      for (std::size_t b = a + 1; b < picture.marks.size(); ++b) {
        const Picture::Mark& x = picture.marks[a];
        const Picture::Mark& y = picture.marks[b];
        const bool apart =
            std::abs(x.y - y.y) >= kMarkHeight || std::abs(x.x - y.x) >= (x.width + y.width) / 2;
        EXPECT_TRUE(apart) << cluster.graph.name(x.node) << " and " << cluster.graph.name(y.node);
      }
      EXPECT_GE(picture.marks[a].x - picture.marks[a].width / 2, 0);
      EXPECT_LE(picture.marks[a].x + picture.marks[a].width / 2, picture.width);
      EXPECT_LE(picture.marks[a].y, picture.height);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Clusters, Drawn, testing::ValuesIn(clusters()));

TEST(Draw, LongRunsAreShortenedAndCounted) {
  const std::string svg = draw_svg(load_cluster("fattree:k=16,bandwidth=100Gbps,latency=500ns"));
  EXPECT_THAT(svg, HasSubstr(">x16<"));  // Pods.
  EXPECT_THAT(svg, HasSubstr(">x64<"));  // Hosts of a pod, and cores.
  EXPECT_THAT(svg, HasSubstr("1,024 x 100Gbps, 500ns"));
  EXPECT_THAT(svg, HasSubstr("device (1,024)"));
}

TEST(Draw, NamesAreEscaped) {
  Cluster cluster = load_cluster("star:hosts=2,bandwidth=100Gbps,latency=500ns");
  cluster.name = "a<b>&\"c\"";
  EXPECT_THAT(draw_svg(cluster), HasSubstr("a&lt;b&gt;&amp;&quot;c&quot;"));
}

TEST(Draw, NothingIsDrawnOfNothing) {
  Cluster cluster;
  cluster.graph.finish();
  EXPECT_TRUE(is_well_formed(draw_svg(cluster)));
  EXPECT_THAT(summarize(cluster), HasSubstr("ranks     0"));
}

TEST(Draw, StemsDropIndices) {
  EXPECT_EQ(stem_of("host[3].gpu[1]"), "host.gpu");
  EXPECT_EQ(stem_of("host.3.gpu.1"), "host.gpu");
  EXPECT_EQ(short_name("host[3].gpu[1]"), "gpu[1]");
  EXPECT_EQ(short_name("host.3.gpu.1"), "gpu.1");
  EXPECT_EQ(short_name("alone"), "alone");
  EXPECT_EQ(grouped(1'234'567), "1,234,567");
  EXPECT_EQ(grouped(123), "123");
}

TEST(Summary, SaysWhatThereIs) {
  EXPECT_EQ(summarize(load_cluster("hgx-h100")),
            "hgx-h100\n"
            "  ranks     8 on 8 nodes\n"
            "  nodes     9: 8 device, 1 switch\n"
            "  devices   8 ranks: h100_sxm, 989.4Tflops, 80GB at 3350GB/s\n"
            "  links     8 cables\n"
            "            gpu - nvswitch: 8 x 450GB/s, 155ns\n"
            "  diameter  2 links between the two farthest ranks\n");
  EXPECT_THAT(summarize(load_cluster("hgx-h100x4")),
              HasSubstr("leaf - spine: 256 x 400Gbps, 200ns, 8 per pair"));
}

}  // namespace
}  // namespace orrery::topology
