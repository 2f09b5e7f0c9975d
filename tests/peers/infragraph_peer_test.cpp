// SPDX-License-Identifier: Apache-2.0
// Goal: the graphs we expand are those of the InfraGraph service. Method: files written by its blueprints, with
// the node, edge and component counts of its own expansion (../shared/peers/infragraph/expected_counts.csv).
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "orrery/base/output_file.hpp"
#include "orrery/base/text.hpp"
#include "orrery/topology/infragraph/infragraph.hpp"

namespace orrery::topology {
namespace {

const std::filesystem::path kFolder = std::filesystem::path{ORRERY_SOURCE_DIR} / "../shared/peers/infragraph";

struct Row {
  std::string file;
  std::size_t nodes = 0;
  std::size_t edges = 0;
  std::size_t components = 0;
};

std::vector<Row> expected_rows() {
  const std::string table = read_file((kFolder / "expected_counts.csv").string(), 1 << 20);
  std::vector<Row> rows;
  for (const std::string_view line : split(table, '\n')) {
    const auto cells = split(trim(line), ',');
    if (cells.size() != 4 || cells[0] == "file") continue;
    const auto number = [&](std::size_t i) {
      return static_cast<std::size_t>(parse_integer(cells[i]).value());
    };
    rows.push_back({std::string{cells[0]}, number(1), number(2), number(3)});
  }
  return rows;
}

Cluster read(const std::string& file, bool lenient) {
  const auto document = config::Document::load((kFolder / file).string());
  EXPECT_TRUE(is_infragraph(document)) << file;
  return read_infragraph(document, {.lenient = lenient});
}

void expect_counts(const Row& row, const Cluster& cluster) {
  EXPECT_EQ(cluster.graph.node_count(), row.nodes) << row.file;
  EXPECT_EQ(cluster.graph.edge_count(), row.edges) << row.file;
  EXPECT_EQ(cluster.graph.component_count(), row.components) << row.file;
}

class InfraGraphPeer : public testing::Test {
 protected:
  void SetUp() override {
    if (!std::filesystem::exists(kFolder)) GTEST_SKIP() << "no peer files at " << kFolder;
  }
};

TEST_F(InfraGraphPeer, LenientCountsAreUpstreams) {
  const std::vector<Row> rows = expected_rows();
  EXPECT_GE(rows.size(), 39U);
  for (const Row& row : rows) expect_counts(row, read(row.file, true));
}

TEST_F(InfraGraphPeer, StrictReadsEverySaneFileAndNamesTheFaultOfTheOthers) {
  for (const Row& row : expected_rows()) {
    if (row.file.find("dgx2") == std::string::npos) {
      expect_counts(row, read(row.file, false));
      continue;
    }
    try {
      static_cast<void>(read(row.file, false));
      ADD_FAILURE() << row.file << ": no error";
    } catch (const InputError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("'dgx2' has no component 'nvlsw' (did you mean 'nvsw'?)"));
    }
  }
}

TEST_F(InfraGraphPeer, WrittenFilesReadBackAlike) {
  for (const Row& row : expected_rows()) {
    const Cluster cluster = read(row.file, true);
    const std::string text = write_infragraph(cluster);
    const Cluster again = read_infragraph(config::Document::parse(text, "written.yaml"));
    expect_counts(row, again);
    EXPECT_EQ(again.ranks.size(), cluster.ranks.size()) << row.file;
  }
}

}  // namespace
}  // namespace orrery::topology
