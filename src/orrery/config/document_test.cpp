// SPDX-License-Identifier: Apache-2.0
#include "orrery/config/document.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::config {
namespace {

std::string error_of(std::string_view text, const Limits& limits = {}) {
  try {
    static_cast<void>(Document::parse(text, "t.yaml", limits));
  } catch (const InputError& error) {
    return error.what();
  }
  return "no error";
}

TEST(Document, RemembersWhereEachValueStands) {
  const Document document = Document::parse("a: 1\nb:\n  - x\n  - {c: \"2\"}\n", "t.yaml");
  const Cursor root{document};
  EXPECT_EQ(root.at("a").node().text, "1");
  const Cursor c = root.at("b").item(1).at("c");
  EXPECT_EQ(c.path(), "b[1].c");
  EXPECT_EQ(c.node().position.line, 4);
  EXPECT_TRUE(c.node().quoted);
}

TEST(Document, ReadsJson) {
  const Document document = Document::parse("{\"a\":[1,2,\n\t{\"b\":null}],\"c\":true}", "t.json");
  EXPECT_EQ(document.root().find("a")->items.size(), 3U);
  EXPECT_EQ(document.root().find("a")->items[2].find("b")->kind, Kind::kNull);
}

TEST(Document, RefusesWhatIsNotOneDocument) {
  EXPECT_THAT(error_of(""), testing::HasSubstr("empty"));
  EXPECT_THAT(error_of("a: [1, 2"), testing::HasSubstr("t.yaml:2:1: malformed YAML"));
  EXPECT_THAT(error_of("a: 1\na: 2\n"), testing::HasSubstr("t.yaml:2:1: key 'a' appears twice"));
  EXPECT_THAT(error_of("a: 1\n---\nb: 2\n"), testing::HasSubstr("more than one"));
  EXPECT_THAT(error_of("[a]: 1\n"), testing::HasSubstr("key must be plain text"));
  EXPECT_THAT(error_of(std::string_view{"\x00\x01\xff\xfe", 4}), testing::HasSubstr("malformed YAML"));
}

TEST(Document, BoundsDepthAndAliases) {
  EXPECT_THAT(error_of(std::string(100, '[')), testing::HasSubstr("nested deeper than 64"));
  std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string before = "*a" + std::to_string(i - 1);
    bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + before;
    for (int j = 1; j < 10; ++j) bomb += ", " + before;
    bomb += "]\n";
  }
  EXPECT_THAT(error_of(bomb, {.nodes = 100'000}), testing::HasSubstr("more than 100000 values"));
  EXPECT_THAT(error_of("a: &x [*x]\n"), testing::HasSubstr("refers to no finished anchor"));
}

TEST(Document, OneLineForm) {
  std::string head;
  const Document document = Document::from_line("star:hosts=64, bandwidth=200Gbps", "--cluster", head);
  EXPECT_EQ(head, "star");
  EXPECT_EQ(document.root().find("bandwidth")->text, "200Gbps");
  EXPECT_THROW(static_cast<void>(Document::from_line("star:hosts", "--cluster", head)), InputError);
}

}  // namespace
}  // namespace orrery::config
