// SPDX-License-Identifier: Apache-2.0
// Goal: what is written as ET is read back alike, every kind of value included; what cannot be read says why.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>

#include "orrery/base/error.hpp"
#include "orrery/chakra/node_source.hpp"
#include "orrery/chakra/testing/samples.hpp"
#include "orrery/chakra/wire.hpp"

namespace orrery::chakra {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::vector<Node> read_all(const std::string& bytes) {
  std::vector<Node> nodes;
  const auto source = read_et(memory_bytes(bytes, "sample.et"), "sample.et");
  for (Node node; source->next(node);) nodes.push_back(node);
  return nodes;
}

TEST(Et, EveryKindOfValueComesBack) {
  const GlobalMetadata metadata = test::sample_metadata();
  const std::vector<Node> nodes = test::sample_nodes();
  const std::string bytes = test::et_bytes(metadata, nodes);
  const auto source = read_et(memory_bytes(bytes, "sample.et"), "sample.et");
  EXPECT_EQ(source->metadata(), metadata);
  EXPECT_EQ(read_all(bytes), nodes);
}

TEST(Et, FramesAreTheBytesOfTheFile) {
  const std::string bytes = test::et_bytes(test::sample_metadata(), test::sample_nodes());
  const auto source = read_et(memory_bytes(bytes, "sample.et"), "sample.et");
  std::string joined = source->metadata_frame();
  for (Node node; source->next(node);) joined += source->frame();
  EXPECT_EQ(joined, bytes);
}

TEST(Et, UnpackedNumbersAndUnknownFieldsAreRead) {
  // id 5, data_deps 1 and 300 one by one, an unknown field 40.
  const std::string node{"\x08\x05\x28\x01\x28\xac\x02\xc0\x02\x07", 10};
  const std::vector<Node> nodes = read_all(std::string{"\x00\x0a", 2} + node);
  ASSERT_EQ(nodes.size(), 1U);
  EXPECT_EQ(nodes[0].id, 5U);
  EXPECT_EQ(nodes[0].data_deps, (std::vector<std::uint64_t>{1, 300}));
}

TEST(Et, NegativeNumbersOfThirtyTwoBitsKeepTheirSign) {
  const std::vector<Node> nodes = read_all(test::et_bytes({}, test::sample_nodes()));
  const Attribute* attribute = nodes.front().find("int32");
  ASSERT_NE(attribute, nullptr);
  EXPECT_EQ(static_cast<std::int64_t>(attribute->number), -7);
}

TEST(Et, DamageIsNamedWithItsPlace) {
  const std::string good = test::et_bytes(test::sample_metadata(), test::sample_nodes());
  const auto reading = [](const std::string& bytes) { return [bytes] { read_all(bytes); }; };
  EXPECT_THAT(reading(""), ThrowsMessage<InputError>(HasSubstr("sample.et: byte 0: the file is empty")));
  EXPECT_THAT(reading(good.substr(0, good.size() - 1)),
              ThrowsMessage<InputError>(HasSubstr("the file ends inside a message")));
  EXPECT_THAT(reading(std::string(20, '\xff')), ThrowsMessage<InputError>(HasSubstr("more than 10 bytes")));
  EXPECT_THAT(reading("\xff\xff\xff\xff\x7f"), ThrowsMessage<InputError>(HasSubstr("at most")));
  EXPECT_THAT(reading(std::string{"\x00\x02\x0a\x05", 4}),
              ThrowsMessage<InputError>(HasSubstr("sample.et: byte 2: ")));
}

TEST(Et, OldSchemasAreRefusedByName) {
  const auto reading = [](const std::string& bytes) { return [bytes] { read_all(bytes); }; };
  EXPECT_THAT(
      reading(test::et_bytes({.version = "0.0.3"}, {})),
      ThrowsMessage<InputError>(HasSubstr("version '0.0.3': written with a Chakra schema before 0.0.4")));
  // A node in place of the metadata.
  EXPECT_THAT(reading(std::string{"\x04\x08\x01\x12\x00", 5}),
              ThrowsMessage<InputError>(HasSubstr("before 0.0.4")));
  // Attributes in field 11, with names.
  EXPECT_THAT(reading(std::string{"\x00\x07\x08\x01\x5a\x03\x0a\x01x", 9}),
              ThrowsMessage<InputError>(HasSubstr("before 0.0.4")));
  EXPECT_NO_THROW(read_all(test::et_bytes({.version = "1.0.0"}, test::sample_nodes())));
}

TEST(Et, LimitsHold) {
  Node node;
  node.name = std::string(3000, 'n');
  node.data_deps.assign(50, 1);
  node.attributes.assign(20, Attribute::of_bool("b", true));
  const std::string bytes = test::et_bytes({}, {node});
  const auto reading = [&](const Limits& limits) {
    return [&bytes, limits] {
      const auto source = read_et(memory_bytes(bytes, "sample.et"), "sample.et", limits);
      Node into;
      source->next(into);
    };
  };
  EXPECT_NO_THROW(reading({})());
  EXPECT_THAT(reading({.message_bytes = 100}), ThrowsMessage<InputError>(HasSubstr("at most 100")));
  EXPECT_THAT(reading({.attributes = 19}), ThrowsMessage<InputError>(HasSubstr("more than 19 attributes")));
  EXPECT_THAT(reading({.values = 49}), ThrowsMessage<InputError>(HasSubstr("more than 49 values")));
  EXPECT_THAT(reading({.name_bytes = 2999}), ThrowsMessage<InputError>(HasSubstr("name of 3000 bytes")));
}

TEST(Et, LongMessagesCrossTheWindow) {
  std::vector<Node> nodes(40);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    nodes[i].id = i;
    nodes[i].name = std::string(i * 9000, static_cast<char>('a' + i % 26));
  }
  EXPECT_EQ(read_all(test::et_bytes({}, nodes)), nodes);
}

TEST(Et, PassingOverFindsTheSameNodes) {
  const std::string bytes = test::et_bytes({}, test::sample_nodes());
  const auto source = read_et(memory_bytes(bytes, "sample.et"), "sample.et");
  Node node;
  ASSERT_TRUE(source->next_of(NodeType::kCommSend, node));
  EXPECT_EQ(node.name, "send");
  EXPECT_FALSE(source->next_of(NodeType::kCommSend, node));
}

}  // namespace
}  // namespace orrery::chakra
