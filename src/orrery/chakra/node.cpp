// SPDX-License-Identifier: Apache-2.0
#include "orrery/chakra/node.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

namespace orrery::chakra {
namespace {

constexpr std::array<std::string_view, 16> kValueNames{
    "none",   "double",  "float",   "int32",    "int64",    "uint32", "uint64", "sint32",
    "sint64", "fixed32", "fixed64", "sfixed32", "sfixed64", "bool",   "string", "bytes"};

constexpr std::array<std::string_view, 11> kNodeNames{
    "INVALID_NODE",   "METADATA_NODE",  "MEM_LOAD_NODE", "MEM_STORE_NODE", "COMP_NODE",      "COMM_SEND_NODE",
    "COMM_RECV_NODE", "COMM_COLL_NODE", "STORAGE_NODE",  "BATCH_NODE",     "CHECKPOINT_NODE"};

Attribute scalar(std::string name, ValueType type, std::uint64_t bits) {
  Attribute attribute;
  attribute.name = std::move(name);
  attribute.type = type;
  attribute.number = bits;
  return attribute;
}

}  // namespace

std::string_view to_text(ValueType type) { return kValueNames.at(static_cast<std::size_t>(type)); }

std::optional<ValueType> parse_value_type(std::string_view text) {
  const auto* const found = std::ranges::find(kValueNames, text);
  if (found == kValueNames.end() || found == kValueNames.begin()) return std::nullopt;
  return static_cast<ValueType>(found - kValueNames.begin());
}

bool is_integer(ValueType type) { return type >= ValueType::kInt32 && type <= ValueType::kBool; }

bool is_signed(ValueType type) {
  switch (type) {
    case ValueType::kInt32:
    case ValueType::kInt64:
    case ValueType::kSint32:
    case ValueType::kSint64:
    case ValueType::kSfixed32:
    case ValueType::kSfixed64:
      return true;
    default:
      return false;
  }
}

bool is_textual(ValueType type) { return type == ValueType::kString || type == ValueType::kBytes; }

Attribute Attribute::of_int64(std::string name, std::int64_t value) {
  return scalar(std::move(name), ValueType::kInt64, static_cast<std::uint64_t>(value));
}

Attribute Attribute::of_uint64(std::string name, std::uint64_t value) {
  return scalar(std::move(name), ValueType::kUint64, value);
}

Attribute Attribute::of_bool(std::string name, bool value) {
  return scalar(std::move(name), ValueType::kBool, value ? 1 : 0);
}

Attribute Attribute::of_double(std::string name, double value) {
  return scalar(std::move(name), ValueType::kDouble, std::bit_cast<std::uint64_t>(value));
}

Attribute Attribute::of_string(std::string name, std::string value) {
  Attribute attribute = scalar(std::move(name), ValueType::kString, 0);
  attribute.text = std::move(value);
  return attribute;
}

Attribute Attribute::of_numbers(std::string name, ValueType type, std::vector<std::uint64_t> values) {
  Attribute attribute = scalar(std::move(name), type, 0);
  attribute.is_list = true;
  attribute.numbers = std::move(values);
  return attribute;
}

std::string_view to_text(NodeType type) {
  const auto index = static_cast<std::size_t>(type);
  return index < kNodeNames.size() ? kNodeNames.at(index) : std::string_view{};
}

std::optional<NodeType> parse_node_type(std::string_view text) {
  const auto* const found = std::ranges::find(kNodeNames, text);
  if (found == kNodeNames.end()) return std::nullopt;
  return static_cast<NodeType>(found - kNodeNames.begin());
}

void Node::clear() {
  id = 0;
  name.clear();
  type = NodeType::kInvalid;
  ctrl_deps.clear();
  data_deps.clear();
  start_time_micros = 0;
  duration_micros = 0;
  inputs.reset();
  outputs.reset();
  attributes.clear();
}

const Attribute* Node::find(std::string_view attribute) const {
  const auto found = std::ranges::find(attributes, attribute, &Attribute::name);
  return found == attributes.end() ? nullptr : &*found;
}

}  // namespace orrery::chakra
