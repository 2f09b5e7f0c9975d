// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/catalog.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "orrery/topology/load_cluster.hpp"

namespace orrery::topology {
namespace {

struct Preset {
  std::string name;
  std::size_t ranks;
  std::string device;
  std::string nccl_platform;
};

std::ostream& operator<<(std::ostream& out, const Preset& preset) { return out << preset.name; }

const std::vector<Preset>& documented() {
  static const std::vector<Preset> presets{
      {"dgx-a100", 8, "a100_sxm", "a100_sxm"},    {"dgx-a100x4", 32, "a100_sxm", "a100_sxm"},
      {"gb200-nvl72", 72, "gb200", ""},           {"hgx-h100", 8, "h100_sxm", "h100_sxm"},
      {"hgx-h100x4", 32, "h100_sxm", "h100_sxm"}, {"jetson-lan", 4, "jetson_orin", ""},
      {"jetson-lan-8", 8, "jetson_orin", ""},     {"laptop", 4, "laptop_cpu", ""},
      {"mi300x-host", 8, "mi300x", ""},
  };
  return presets;
}

class CatalogPreset : public testing::TestWithParam<Preset> {};

TEST_P(CatalogPreset, LoadsAsDocumented) {
  const Preset& preset = GetParam();
  const Cluster cluster = load_cluster(preset.name);
  EXPECT_EQ(cluster.name, preset.name);
  EXPECT_EQ(cluster.ranks.size(), preset.ranks);
  EXPECT_EQ(cluster.nccl_platform, preset.nccl_platform);
  EXPECT_EQ(cluster.graph.component_count(), 1U);
  EXPECT_TRUE(cluster.warnings.empty());
  ASSERT_EQ(cluster.devices.size(), 1U);
  EXPECT_EQ(cluster.devices[0].name, preset.device);
  EXPECT_GT(cluster.devices[0].peak.per_second, 0);
  EXPECT_GT(cluster.devices[0].memory.count(), 0);
  EXPECT_GT(cluster.devices[0].memory_bandwidth.bits_per_second(), 0);
}

INSTANTIATE_TEST_SUITE_P(Documented, CatalogPreset, testing::ValuesIn(documented()));

TEST(Catalog, EveryPresetIsDocumented) {
  std::vector<std::string> names;
  for (const Preset& preset : documented()) names.push_back(preset.name);
  EXPECT_EQ(Catalog{}.cluster_names(), names);
  EXPECT_THAT(Catalog{}.device_names(), testing::Contains("h100_sxm"));
}

TEST(Catalog, NvswitchGivesEachGpu450GigabytesASecond) {
  const Cluster cluster = load_cluster("hgx-h100");
  for (std::size_t link = 0; link < cluster.graph.link_count(); ++link) {
    EXPECT_EQ(cluster.graph.link(LinkId{link}).bandwidth, Bandwidth::bytes_per_second(450'000'000'000));
  }
}

TEST(Catalog, TheEnvironmentComesFirst) {
  ASSERT_EQ(setenv("ORRERY_CATALOG", "/nowhere", 1), 0);
  EXPECT_THROW(static_cast<void>(catalog_directory()), InputError);
  ASSERT_EQ(unsetenv("ORRERY_CATALOG"), 0);
  const std::string found = catalog_directory();
  ASSERT_EQ(setenv("ORRERY_CATALOG", found.c_str(), 1), 0);
  EXPECT_EQ(catalog_directory(), found);
  ASSERT_EQ(unsetenv("ORRERY_CATALOG"), 0);
}

TEST(Catalog, NamesAreNotPaths) {
  EXPECT_EQ(Catalog{}.cluster_path("../devices/h100_sxm"), "");
  EXPECT_EQ(Catalog{}.cluster_path(".hidden"), "");
  EXPECT_EQ(Catalog{}.cluster_path(""), "");
}

}  // namespace
}  // namespace orrery::topology
