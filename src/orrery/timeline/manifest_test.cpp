// SPDX-License-Identifier: Apache-2.0
#include "orrery/timeline/manifest.hpp"

#include <gtest/gtest.h>

#include "orrery/base/check.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/testing/temporary_folder.hpp"
#include "orrery/timeline/csv_table.hpp"
#include "orrery/timeline/ring_sample.hpp"

namespace orrery::timeline {
namespace {

TEST(Manifest, JsonKeepsTheOrderAndLeavesTheMachineOut) {
  EXPECT_EQ(to_json(test::ring_manifest()).dump(),
            R"({"version":"0.1.0","commit":"0123abc","seed":7,"digest":"000000000000abcd",)"
            R"("configuration_hash":"97fb6443f1e78b75",)"
            R"("command":"orrery collective all_reduce --cluster=ring.yaml --label 'two words'",)"
            R"("configuration":{"cluster":"ring.yaml","collective.size":"1MiB"}})");
}

TEST(Manifest, HashFollowsTheConfigurationOnly) {
  Manifest manifest = test::ring_manifest();
  const auto hash = to_json(manifest)["configuration_hash"];
  manifest.seed = 8;
  EXPECT_EQ(to_json(manifest)["configuration_hash"], hash);
  manifest.configuration[1].second = "2MiB";
  EXPECT_NE(to_json(manifest)["configuration_hash"], hash);
}

TEST(Manifest, SettingTwiceIsABug) {
  Manifest manifest;
  manifest.configuration = {{"a", "1"}, {"a", "2"}};
  EXPECT_THROW(static_cast<void>(to_json(manifest)), Bug);
}

TEST(Manifest, CommandIsWhatAShellTakes) {
  EXPECT_EQ(
      portable_command({"/usr/bin/orrery", "run", "", "it's", "-o", "out/x.json", "--in=/a/b c", "/data/"}),
      R"(orrery run '' 'it'\''s' -o out/x.json '--in=b c' /data/)");
}

TEST(CsvTable, ManifestThenHeaderThenQuotedRows) {
  const orrery::test::TemporaryFolder folder;
  const std::string path = folder.path("table.csv");
  Manifest manifest;
  manifest.version = "1";
  manifest.configuration = {{"note", "two\nlines"}};
  CsvTable table{path, manifest, {"size", "note"}};
  table.row({"1", "plain"});
  table.row({"2", "a,\"b\"\nc"});
  EXPECT_THROW(table.row({"3"}), Bug);
  EXPECT_THROW(table.comment("too", "late"), Bug);
  table.commit();
  EXPECT_EQ(read_file(path, 1 << 16),
            "# version: 1\n# commit: \n# seed: 0\n# digest: 0000000000000000\n# configuration_hash: "
            "641ff336feef0398\n"
            "# command: \n# configuration.note: two\\nlines\nsize,note\n1,plain\n2,\"a,\"\"b\"\"\nc\"\n");
}

}  // namespace
}  // namespace orrery::timeline
