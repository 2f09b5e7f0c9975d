// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Traces for tests: every node type and every kind of value, small.
#include <zlib.h>

#include <bit>
#include <limits>
#include <string>
#include <vector>

#include "orrery/chakra/node.hpp"
#include "orrery/chakra/wire.hpp"

namespace orrery::chakra::test {

inline Attribute textual(std::string name, ValueType type, std::string text) {
  Attribute attribute = Attribute::of_string(std::move(name), std::move(text));
  attribute.type = type;
  return attribute;
}

/// One attribute of each of the 30 kinds, and one without a value.
inline std::vector<Attribute> every_kind() {
  constexpr auto kNegative = static_cast<std::uint64_t>(-7);
  const auto number_of = [](ValueType type) -> std::uint64_t {
    if (type == ValueType::kDouble) return std::bit_cast<std::uint64_t>(-0.1);
    if (type == ValueType::kFloat) return std::bit_cast<std::uint32_t>(1.5e-30F);
    if (type == ValueType::kBool) return 1;
    if (is_signed(type)) return kNegative;
    return type == ValueType::kUint64 || type == ValueType::kFixed64
               ? std::numeric_limits<std::uint64_t>::max()
               : 0xFFFF'FFFFU;
  };
  std::vector<Attribute> attributes;
  for (int i = 1; i <= static_cast<int>(ValueType::kBytes); ++i) {
    const auto type = static_cast<ValueType>(i);
    Attribute one;
    one.name = to_text(type);
    one.doc = i % 4 == 0 ? "why" : "";
    one.type = type;
    Attribute list = one;
    list.name += "_list";
    list.is_list = true;
    if (is_textual(type)) {
      one.text = type == ValueType::kBytes ? std::string{"\x00\xff\x80", 3} : "Größe \"x\"\n";
      list.texts = {one.text, "", "b"};
    } else {
      one.number = number_of(type);
      list.numbers = {one.number, 0, 1};
    }
    attributes.push_back(one);
    attributes.push_back(list);
  }
  Attribute empty_list;
  empty_list.name = "empty";
  empty_list.type = ValueType::kInt64;
  empty_list.is_list = true;
  attributes.push_back(empty_list);
  Attribute bare;
  bare.name = "bare";
  attributes.push_back(bare);
  attributes.emplace_back();
  return attributes;
}

inline GlobalMetadata sample_metadata() {
  return {.version = "0.0.4", .attributes = {Attribute::of_string("source", "a test")}};
}

inline Node node_of(std::uint64_t id, std::string name, NodeType type,
                    std::vector<Attribute> attributes = {}) {
  Node node;
  node.id = id;
  node.name = std::move(name);
  node.type = type;
  node.attributes = std::move(attributes);
  return node;
}

inline std::vector<Node> sample_nodes() {
  const auto number = [](std::string name, std::int64_t value) {
    return Attribute::of_int64(std::move(name), value);
  };
  std::vector<Node> nodes;
  nodes.push_back(node_of(0, "kinds", NodeType::kInvalid, every_kind()));
  nodes.push_back(node_of(1, "groups", NodeType::kMetadata));
  nodes.back().inputs =
      IoInfo{.values = R"(['[{"pg_name": "7", "ranks": [0, 1]}]'])", .shapes = "[[]]", .types = ""};
  nodes.back().outputs = IoInfo{};
  nodes.push_back(node_of(2, "load", NodeType::kMemLoad, {Attribute::of_uint64("tensor_size", 4096)}));
  nodes.push_back(node_of(3, "store", NodeType::kMemStore, {Attribute::of_uint64("tensor_size", 4096)}));
  nodes.push_back(node_of(
      4, "matmul", NodeType::kComp,
      {Attribute::of_bool("is_cpu_op", false), number("num_ops", 1000000), number("tensor_size", 65536)}));
  nodes.back().data_deps = {1, 2};
  nodes.back().ctrl_deps = {0};
  nodes.back().start_time_micros = 17;
  nodes.back().duration_micros = 30;
  nodes.push_back(node_of(
      5, "send", NodeType::kCommSend,
      {number("comm_src", 0), number("comm_dst", 1), number("comm_tag", 9), number("comm_size", 64)}));
  nodes.push_back(node_of(
      6, "receive", NodeType::kCommRecv,
      {number("comm_src", 1), number("comm_dst", 0), number("comm_tag", 9), number("comm_size", 64)}));
  nodes.push_back(
      node_of(7, "reduce", NodeType::kCommColl,
              {number("comm_type", 0), number("comm_size", 1 << 20), Attribute::of_string("pg_name", "7"),
               Attribute::of_numbers("involved_dim", ValueType::kBool, {1, 0})}));
  nodes.back().data_deps = {4, 6};
  return nodes;
}

inline std::string et_bytes(const GlobalMetadata& metadata, const std::vector<Node>& nodes) {
  std::string bytes;
  std::string scratch;
  encode_frame(metadata, scratch, bytes);
  for (const Node& node : nodes) encode_frame(node, scratch, bytes);
  return bytes;
}

}  // namespace orrery::chakra::test
