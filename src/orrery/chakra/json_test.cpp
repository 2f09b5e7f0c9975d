// SPDX-License-Identifier: Apache-2.0
// Goal: a trace goes to JSON and back byte for byte, whatever is in it; the JSON of Chakra's own tools is read too.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.hpp"
#include "orrery/chakra/base64.hpp"
#include "orrery/chakra/json_node.hpp"
#include "orrery/chakra/node_source.hpp"
#include "orrery/chakra/testing/samples.hpp"
#include "orrery/chakra/trace_writer.hpp"

namespace orrery::chakra {
namespace {

using testing::HasSubstr;
using testing::Not;
using testing::ThrowsMessage;

class TextSink final : public ByteSink {
 public:
  void write(std::string_view data) override { text += data; }
  void commit() override {}
  std::string text;
};

enum class To : bool { kEt, kJson };

std::string copied(NodeSource& from, To form) {
  TextSink sink;
  const auto writer = form == To::kJson ? write_json(sink) : write_et(sink);
  writer->metadata(from.metadata(), from.metadata_frame());
  for (Node node; from.next(node);) writer->node(node, from.frame());
  writer->finish();
  return sink.text;
}

std::string json_of(const std::string& et) {
  return copied(*read_et(memory_bytes(et, "t.et"), "t.et"), To::kJson);
}

std::string et_of(const std::string& json) {
  return copied(*read_json(memory_bytes(json, "t.json"), "t.json"), To::kEt);
}

std::vector<Node> nodes_of(const std::string& json) {
  std::vector<Node> nodes;
  const auto source = read_json(memory_bytes(json, "t.json"), "t.json");
  for (Node node; source->next(node);) nodes.push_back(node);
  return nodes;
}

TEST(TraceJson, ThereAndBackIsTheSameFile) {
  const std::string et = test::et_bytes(test::sample_metadata(), test::sample_nodes());
  const std::string json = json_of(et);
  EXPECT_THAT(json, HasSubstr(R"("data_deps":[1,2])"));
  EXPECT_THAT(json, HasSubstr(R"({"name":"uint64","uint64_val":18446744073709551615})"));
  EXPECT_THAT(json, Not(HasSubstr("wire")));  // Ordinary bytes need no help.
  EXPECT_EQ(et_of(json), et);
  EXPECT_EQ(json_of(et_of(json)), json);
}

TEST(TraceJson, UnusualBytesComeBackToo) {
  const std::vector<std::string> messages{
      {"\x08\x05\x28\x01\x28\xac\x02\xc0\x02\x07", 10},              // Unpacked numbers, an unknown field.
      {"\x12\x02\xff\xfe", 4},                                       // A name that is no UTF-8.
      {"\x18\x07\x08\x05", 4},                                       // Fields out of order.
      {"\x08\x85\x80\x00", 4},                                       // A number longer than it need be.
      {"\x18\x63", 2},                                               // A type the schema has no name for.
      {"\x52\x0b\x0a\x00\x19\x01\x00\x00\x00\x00\x00\xf8\x7f", 13},  // A NaN with something in it.
  };
  std::string et{"\x00", 1};
  for (const std::string& message : messages) et += static_cast<char>(message.size()) + message;
  et += std::string{"\x82\x80\x00\x08\x09", 5};  // A length longer than it need be.
  const std::string json = json_of(et);
  EXPECT_THAT(json, HasSubstr("\"wire\""));
  EXPECT_EQ(et_of(json), et);
}

TEST(TraceJson, WireMustAgreeWithTheRest) {
  const std::string et =
      std::string{"\x00\x0a", 2} + std::string{"\x08\x05\x28\x01\x28\xac\x02\xc0\x02\x07", 10};
  std::string json = json_of(et);
  json.replace(json.find("\"id\":5"), 6, "\"id\":6");
  EXPECT_THAT([&] { et_of(json); }, ThrowsMessage<InputError>(HasSubstr("wire: ")));
  EXPECT_THAT([&] { et_of(json); }, ThrowsMessage<InputError>(HasSubstr("remove it to keep those")));
}

TEST(TraceJson, WhatTheJsonizerWritesIsRead) {
  const std::vector<Node> nodes = nodes_of(R"({
  "version": "0.0.4"
}{
  "name": "first", "type": "COMP_NODE", "durationMicros": "12", "dataDeps": ["3", "4"],
  "attr": [{"name": "is_cpu_op", "boolVal": false}, {"name": "num_ops", "int64Val": "100"}]
}
{"id": "1", "type": "COMM_COLL_NODE", "attr": [{"name": "dims", "boolList": {"values": [true, false]}}]})");
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].duration_micros, 12U);
  EXPECT_EQ(nodes[0].data_deps, (std::vector<std::uint64_t>{3, 4}));
  EXPECT_EQ(nodes[0].attributes[1], Attribute::of_int64("num_ops", 100));
  EXPECT_EQ(nodes[1].attributes[0], Attribute::of_numbers("dims", ValueType::kBool, {1, 0}));
}

TEST(TraceJson, AWorkloadGraphIsRead) {
  const std::vector<Node> nodes = nodes_of(R"({"title": "x", "workload_graph": [
    {"Id": 4, "Name": "c", "NodeType": 4, "is_cpu_op": true, "runtime": 7, "data_deps": []},
    {"Id": 5, "Name": "s", "NodeType": "COMM_SEND_NODE", "is_cpu_op": false, "data_deps": [4], "comm_size": 64,
     "comm_dst": 1, "comm_tag": -2, "involved_dim": [true, false], "list": [1, -2]}], "more": {}})");
  ASSERT_EQ(nodes.size(), 2U);
  EXPECT_EQ(nodes[0].type, NodeType::kComp);
  EXPECT_EQ(nodes[0].duration_micros, 7U);
  EXPECT_EQ(nodes[0].attributes[0], Attribute::of_bool("is_cpu_op", true));
  EXPECT_EQ(nodes[1].type, NodeType::kCommSend);
  EXPECT_EQ(*nodes[1].find("comm_tag"), Attribute::of_int64("comm_tag", -2));
  EXPECT_EQ(*nodes[1].find("list"), Attribute::of_numbers("list", ValueType::kInt64, {1, ~std::uint64_t{1}}));
}

TEST(TraceJson, MistakesAreNamed) {
  const auto reading = [](const std::string& json) { return [json] { nodes_of(json); }; };
  EXPECT_THAT(reading(""), ThrowsMessage<InputError>(HasSubstr("t.json: byte 0: the file is empty")));
  EXPECT_THAT(reading("[]"), ThrowsMessage<InputError>(HasSubstr("starts with an object")));
  EXPECT_THAT(reading(R"({"nodes": [{"id": 1, "dataDep": []}]})"),
              ThrowsMessage<InputError>(HasSubstr("unknown key of a node")));
  EXPECT_THAT(reading(R"({"nodes": [{"id": 1, "data_dep": []}]})"),
              ThrowsMessage<InputError>(HasSubstr("did you mean 'data_deps'?")));
  EXPECT_THAT(reading(R"({"nodes": [{"id": -1}]})"),
              ThrowsMessage<InputError>(HasSubstr("id: '-1': expected a whole number")));
  EXPECT_THAT(reading(R"({"nodes": [{"id": 1, "id": 2}]})"),
              ThrowsMessage<InputError>(HasSubstr("byte 11: key 'id' appears twice")));
  EXPECT_THAT(reading(R"({"nodes": [{"id": 1}, {"id": )"), ThrowsMessage<InputError>(HasSubstr("file ends")));
  EXPECT_THAT(reading(R"({"nodes": [{"id": 1}}])"), ThrowsMessage<InputError>(HasSubstr("expected ','")));
  EXPECT_THAT(reading(R"({"nodes": []} x)"), ThrowsMessage<InputError>(HasSubstr("more text behind")));
  EXPECT_THAT(reading(R"({"nodes": [{"attr": [{"int32_val": 3000000000}]}]})"),
              ThrowsMessage<InputError>(HasSubstr("attr[0].int32_val: '3000000000'")));
  EXPECT_THAT(reading(R"({"nodes": [{"attr": [{"int8_val": 3}]}]})"),
              ThrowsMessage<InputError>(HasSubstr("unknown key")));
  EXPECT_THAT(reading(R"({"nodes": [{"type": "COMP"}]})"),
              ThrowsMessage<InputError>(HasSubstr("no such node type")));
  EXPECT_THAT(reading(R"({"workload_graph": [{"Name": "x"}]})"),
              ThrowsMessage<InputError>(HasSubstr("Id: missing")));
  EXPECT_THAT(reading(std::string(100, '[')), ThrowsMessage<InputError>(HasSubstr("starts with an object")));
  EXPECT_THAT(reading(R"({"nodes": [)" + std::string(100, '[')),
              ThrowsMessage<InputError>(HasSubstr("nested deeper")));
}

TEST(Base64, ComesBackForEveryLength) {
  std::string bytes;
  for (int i = 0; i < 64; ++i) {
    EXPECT_EQ(from_base64(to_base64(bytes)), bytes);
    bytes.push_back(static_cast<char>(i * 37));
  }
  EXPECT_EQ(to_base64("ab"), "YWI=");
  EXPECT_EQ(from_base64("YWI"), "ab");
  EXPECT_EQ(from_base64("Y"), std::nullopt);
  EXPECT_EQ(from_base64("Y*I="), std::nullopt);
}

}  // namespace
}  // namespace orrery::chakra
