// SPDX-License-Identifier: Apache-2.0
// Goal: nodes mean what docs/traces.md says; an operation written as a node means the same when it is read.
#include "orrery/chakra/lower.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.hpp"
#include "orrery/chakra/process_groups.hpp"
#include "orrery/chakra/testing/samples.hpp"

namespace orrery::chakra {
namespace {

using collectives::Operation;
using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;
using workload::Op;
using workload::OpKind;

Op lowered(const Node& node, std::optional<workload::Rank> rank = 0) {
  const auto source = read_et(memory_bytes(test::et_bytes({}, {node}), "t.et"), "t.et");
  Node read;
  source->next(read);
  Op op;
  lower(read, *source, rank, op);
  return op;
}

void expect_same(const Op& a, const Op& b) {
  EXPECT_EQ(a.id, b.id);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.on_cpu, b.on_cpu);
  EXPECT_EQ(a.name, b.name);
  EXPECT_EQ(a.data_deps, b.data_deps);
  EXPECT_EQ(a.control_deps, b.control_deps);
  EXPECT_EQ(a.recorded, b.recorded);
  EXPECT_EQ(a.flops, b.flops);
  EXPECT_EQ(a.tensor, b.tensor);
  EXPECT_EQ(a.operation, b.operation);
  EXPECT_EQ(a.is_block, b.is_block);
  EXPECT_EQ(a.size, b.size);
  EXPECT_EQ(a.group, b.group);
  EXPECT_EQ(a.root, b.root);
  EXPECT_EQ(a.peer, b.peer);
  EXPECT_EQ(a.tag, b.tag);
  EXPECT_EQ(a.priority, b.priority);
  EXPECT_EQ(a.dims, b.dims);
  EXPECT_EQ(a.sizes, b.sizes);
  EXPECT_EQ(a.recorded_scale, b.recorded_scale);
  EXPECT_EQ(a.element, b.element);
  EXPECT_EQ(a.is_floating, b.is_floating);
  EXPECT_EQ(a.is_detached, b.is_detached);
  EXPECT_EQ(a.independent, b.independent);
}

TEST(Lower, EveryIntegerWidthMeansTheSame) {
  for (int i = static_cast<int>(ValueType::kInt32); i <= static_cast<int>(ValueType::kSfixed64); ++i) {
    const auto type = static_cast<ValueType>(i);
    const auto number = [&](std::string name, std::uint64_t value) {
      Attribute attribute = Attribute::of_uint64(std::move(name), value);
      attribute.type = type;
      return attribute;
    };
    const Op op =
        lowered(test::node_of(1, "c", NodeType::kCommColl,
                              {number("comm_type", 7), number("comm_size", 4096), number("is_cpu_op", 1),
                               number("pg_name", 3), number("comm_priority", 5)}));
    EXPECT_EQ(op.operation, Operation::kReduceScatter) << to_text(type);
    EXPECT_EQ(op.size, Bytes{4096});
    EXPECT_TRUE(op.on_cpu);
    EXPECT_EQ(op.group, "3");
    EXPECT_EQ(op.priority, 5);
  }
}

TEST(Lower, CollectivesByTheirNumber) {
  const std::vector<std::string_view> names{"all_reduce",     "reduce",    "all_gather", "gather",
                                            "scatter",        "broadcast", "all_to_all", "reduce_scatter",
                                            "reduce_scatter", "barrier"};
  for (std::size_t i = 0; i < names.size(); ++i) {
    std::vector<Attribute> attributes{Attribute::of_int64("comm_type", static_cast<std::int64_t>(i))};
    if (i != 9) attributes.push_back(Attribute::of_int64("comm_size", 64));
    const Op op = lowered(test::node_of(1, "c", NodeType::kCommColl, attributes));
    EXPECT_EQ(to_text(op.operation), names[i]);
    EXPECT_EQ(op.is_block, i == 8);
  }
}

TEST(Lower, AllRanksHaveTwoNames) {
  for (const char* name : {"", "0"}) {
    const Op op =
        lowered(test::node_of(1, "c", NodeType::kCommColl,
                              {Attribute::of_int64("comm_type", 0), Attribute::of_int64("comm_size", 1),
                               Attribute::of_string("pg_name", name)}));
    EXPECT_EQ(op.group, "");
  }
}

TEST(Lower, TimesAreMicrosecondsOrPicoseconds) {
  Node node = test::node_of(1, "c", NodeType::kComp);
  node.duration_micros = 3;
  EXPECT_EQ(lowered(node).recorded, picoseconds(3'000'000));
  node.attributes.push_back(Attribute::of_uint64("duration_ps", 3'000'001));
  EXPECT_EQ(lowered(node).recorded, picoseconds(3'000'001));
}

TEST(Lower, WrittenOperationsMeanTheSameAgain) {
  std::vector<Op> ops(8);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    ops[i].id = i;
    ops[i].name = "op";
    ops[i].data_deps = {i, 7};
    ops[i].control_deps = {1};
    ops[i].on_cpu = i % 2 == 0;
    ops[i].recorded = picoseconds(static_cast<std::int64_t>(i) * 1'500'000);
    ops[i].flops = i;
    ops[i].kind = static_cast<OpKind>(i % 7);
    ops[i].tensor = Bytes{static_cast<std::int64_t>(i) * 10};
  }
  Op& collective = ops[2];
  collective.operation = Operation::kReduceScatter;
  collective.is_block = true;
  collective.size = Bytes{1 << 20};
  collective.group = "tp";
  collective.dims = {true, false, true};
  collective.sizes = {Bytes{5}, Bytes{6}};
  collective.priority = -3;
  collective.element = Bytes{8};
  collective.is_floating = false;
  collective.is_detached = true;
  ops[1].recorded_scale = 0.1;
  ops[5].recorded_scale = 0;
  ops[1].independent = {.time = picoseconds(7), .again = picoseconds(2), .what = "linear", .of = 3};
  for (Op* message : {&ops[3], &ops[4]}) {
    message->peer = 5;
    message->tag = -1;
    message->size = Bytes{99};
  }
  for (const Op& op : ops) expect_same(lowered(to_node(op, 0)), op);
  Op rooted = collective;
  rooted.is_block = false;
  rooted.operation = Operation::kBroadcast;
  rooted.root = 3;
  expect_same(lowered(to_node(rooted, 0)), rooted);
}

TEST(Lower, WhatIsMissingOrWrongIsNamed) {
  const auto number = [](std::string name, std::int64_t value) {
    return Attribute::of_int64(std::move(name), value);
  };
  const auto lowering = [](const Node& node) { return [node] { lowered(node, 2); }; };
  EXPECT_THAT(lowering(test::node_of(6, "to next", NodeType::kCommSend, {number("comm_size", 1)})),
              ThrowsMessage<InputError>(AllOf(HasSubstr("t.et: byte 1: node 6 'to next': comm_dst: missing"),
                                              HasSubstr("needs it"))));
  EXPECT_THAT(
      lowering(test::node_of(6, "x", NodeType::kCommRecv, {number("comm_size", 1), number("comm_src", 0)})),
      ThrowsMessage<InputError>(HasSubstr("comm_tag: missing")));
  EXPECT_THAT(
      lowering(test::node_of(6, "x", NodeType::kCommColl, {number("comm_type", 10), number("comm_size", 1)})),
      ThrowsMessage<InputError>(HasSubstr("comm_type: '10': expected 0 to 9")));
  EXPECT_THAT(lowering(test::node_of(6, "x", NodeType::kCommColl, {number("comm_type", 0)})),
              ThrowsMessage<InputError>(HasSubstr("comm_size: missing")));
  EXPECT_THAT(lowering(test::node_of(6, "x", NodeType::kCommColl,
                                     {number("comm_type", 0), Attribute::of_double("comm_size", 1)})),
              ThrowsMessage<InputError>(HasSubstr("comm_size: expected an integer, found double")));
  EXPECT_THAT(lowering(test::node_of(6, "x", NodeType::kCommColl,
                                     {number("comm_type", 0), Attribute::of_uint64("comm_size", ~0ULL)})),
              ThrowsMessage<InputError>(HasSubstr("comm_size: '18446744073709551615'")));
  EXPECT_THAT(lowering(test::node_of(6, "x", NodeType::kMemLoad)),
              ThrowsMessage<InputError>(HasSubstr("tensor_size: missing")));
  EXPECT_THAT(lowering(test::node_of(6, "x", NodeType::kComp, {number("num_ops", 1), number("num_ops", 2)})),
              ThrowsMessage<InputError>(HasSubstr("num_ops: given twice")));
  EXPECT_THAT(lowering(test::node_of(6, "x", NodeType::kCommSend,
                                     {number("comm_src", 1), number("comm_dst", 0), number("comm_tag", 0),
                                      number("comm_size", 1)})),
              ThrowsMessage<InputError>(HasSubstr("comm_src: '1': expected 2")));
  EXPECT_THAT(lowering(test::node_of(6, "x", static_cast<NodeType>(11))),
              ThrowsMessage<InputError>(HasSubstr("type: '11'")));
}

TEST(Lower, IndependentComputingIsWithinTheNodeAndSaysOfWhat) {
  const auto number = [](std::string name, std::int64_t value) {
    return Attribute::of_int64(std::move(name), value);
  };
  const auto lowering = [](std::vector<Attribute> attributes) {
    Node node = test::node_of(6, "x", NodeType::kComp, std::move(attributes));
    node.duration_micros = 1;
    return [node] { return lowered(node); };
  };
  const Op plain = lowering({number("independent_ps", 1'000'000), number("independent_of", 5)})();
  EXPECT_EQ(plain.independent, (workload::Independent{.time = picoseconds(1'000'000), .of = 5}));
  EXPECT_FALSE(lowering({})().independent);
  EXPECT_THAT(lowering({number("independent_ps", 1'000'001), number("independent_of", 5)}),
              ThrowsMessage<InputError>(HasSubstr("independent_ps: '1000001': expected 0 to 1000000")));
  EXPECT_THAT(lowering({number("independent_ps", 1)}),
              ThrowsMessage<InputError>(HasSubstr("independent_of: missing")));
  EXPECT_THAT(lowering({number("again_ps", 1)}),
              ThrowsMessage<InputError>(HasSubstr("again_ps: means nothing without independent_ps")));
  EXPECT_THAT(lowering({number("independent_ps", 1), number("independent_of", 5), number("again_ps", -1)}),
              ThrowsMessage<InputError>(HasSubstr("again_ps: '-1'")));
  EXPECT_THAT(
      lowering({number("independent_ps", 1), number("independent_of", 5), number("independent_what", 4)}),
      ThrowsMessage<InputError>(HasSubstr("independent_what: expected a text, found int64")));
}

TEST(ProcessGroups, AreFoundInEveryWrapping) {
  const std::string plain = R"([{"pg_name": "1", "ranks": [0, 2]}, {"pg_name": "2", "ranks": []}])";
  std::string escaped = plain;
  for (std::size_t at = 0; (at = escaped.find('"', at)) != std::string::npos; at += 2) {
    escaped.insert(at, "\\");
  }
  for (const std::string& text :
       {plain, "['" + plain + "']", "[\"" + escaped + "\"]", "\"" + escaped + "\""}) {
    Node node = test::node_of(1, "## process_group:init ##", NodeType::kMetadata);
    node.inputs = IoInfo{.values = text};
    const std::vector<ProcessGroup> groups = process_groups(node);
    ASSERT_EQ(groups.size(), 2U) << text;
    EXPECT_EQ(groups[0].name, "1");
    EXPECT_EQ(groups[0].ranks, (std::vector<workload::Rank>{0, 2}));
    EXPECT_TRUE(groups[1].ranks.empty());
  }
  Node other = test::node_of(1, "x", NodeType::kMetadata);
  for (const char* text : {"", "pg_name", "[1, 2]", "['pg_name", R"([{"pg_name": 1}])"}) {
    other.inputs = IoInfo{.values = text};
    EXPECT_TRUE(process_groups(other).empty()) << text;
  }
}

}  // namespace
}  // namespace orrery::chakra
