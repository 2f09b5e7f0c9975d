// SPDX-License-Identifier: Apache-2.0
// Goal: what docs/cluster.md and examples/clusters show is what the reader reads.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "orrery/base/output_file.hpp"
#include "orrery/topology/cluster_file.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::topology {
namespace {

namespace fs = std::filesystem;

/// The source tree, found from the catalogue that stands in it.
fs::path tree() { return fs::path{catalog_directory()}.parent_path(); }

/// The ```LANGUAGE blocks of a page.
std::vector<std::string> blocks_of(const std::string& page, const std::string& language) {
  std::vector<std::string> blocks;
  const std::string fence = "\n```" + language + "\n";
  for (std::size_t at = page.find(fence); at != std::string::npos; at = page.find(fence, at)) {
    at += fence.size();
    blocks.push_back(page.substr(at, page.find("\n```", at) - at + 1));
  }
  return blocks;
}

TEST(ClusterDocs, EveryYamlBlockLoads) {
  const std::string page = read_file((tree() / "docs" / "cluster.md").string(), 1 << 20);
  const std::vector<std::string> blocks = blocks_of(page, "yaml");
  EXPECT_GE(blocks.size(), 8U);
  for (const std::string& block : blocks) {
    const config::Document document = config::Document::parse(block, "docs/cluster.md");
    EXPECT_NO_THROW({
      const Cluster cluster = read_cluster(document, Catalog{}, builtin_generators());
      EXPECT_EQ(cluster.graph.component_count(), 1U) << block;
    }) << block;
  }
}

TEST(ClusterDocs, EveryGeneratorLineLoads) {
  const std::string page = read_file((tree() / "docs" / "cluster.md").string(), 1 << 20);
  std::size_t lines = 0;
  for (const std::string& block : blocks_of(page, "text")) {
    for (const std::string_view line : split(block, '\n')) {
      if (line.find(':') == std::string_view::npos) continue;
      EXPECT_NO_THROW(static_cast<void>(load_cluster(std::string{line}))) << line;
      ++lines;
    }
  }
  EXPECT_EQ(lines, builtin_generators().names().size()) << "one line for each generator";
}

TEST(ClusterDocs, EveryFieldIsExplained) {
  const std::string page = read_file((tree() / "docs" / "cluster.md").string(), 1 << 20);
  const GeneratorRegistry generators = builtin_generators();
  for (const Generator& generator : generators.all()) {
    EXPECT_NE(page.find("`" + generator.name + "`"), std::string::npos) << generator.name;
    for (const config::FieldDoc& field : generator.fields) {
      EXPECT_NE(page.find("`" + field.name + "`"), std::string::npos) << generator.name << "." << field.name;
    }
  }
  for (const std::string& preset : Catalog{}.cluster_names()) {
    EXPECT_NE(page.find("`" + preset + "`"), std::string::npos) << preset;
  }
}

TEST(ClusterDocs, EveryExampleLoads) {
  std::vector<fs::path> examples;
  for (const fs::directory_entry& entry : fs::directory_iterator{tree() / "examples" / "clusters"}) {
    examples.push_back(entry.path());
  }
  std::ranges::sort(examples);
  EXPECT_FALSE(examples.empty());
  for (const fs::path& example : examples) {
    EXPECT_NO_THROW({
      const Cluster cluster = load_cluster(example.string());
      EXPECT_EQ(cluster.graph.component_count(), 1U) << example;
    }) << example;
  }
}

}  // namespace
}  // namespace orrery::topology
