// SPDX-License-Identifier: Apache-2.0
// The JSON form of Chakra's feeder: flat objects, whose keys beyond a few are what attributes are elsewhere.
#include <fmt/format.h>

#include <bit>

#include "orrery/chakra/json_node.hpp"

namespace orrery::chakra {
namespace {

[[noreturn]] void fail(const std::string& field, const Json& value, std::string expected) {
  throw JsonError{.field = field,
                  .value = value.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 200),
                  .expected = std::move(expected)};
}

std::uint64_t whole(const std::string& field, const Json& json) {
  if (!json.is_number_unsigned()) fail(field, json, "expected a whole number, 0 or more");
  return json.get<std::uint64_t>();
}

std::vector<std::uint64_t> ids(const std::string& field, const Json& json) {
  if (!json.is_array()) fail(field, json, "expected a list of ids");
  std::vector<std::uint64_t> list;
  for (const Json& id : json) list.push_back(whole(field, id));
  return list;
}

/// How a JSON value is kept as an attribute.
ValueType type_of(const std::string& field, const Json& json) {
  if (json.is_boolean()) return ValueType::kBool;
  if (json.is_number_unsigned()) return ValueType::kUint64;
  if (json.is_number_integer()) return ValueType::kInt64;
  if (json.is_number_float()) return ValueType::kDouble;
  if (json.is_string()) return ValueType::kString;
  fail(field, json, "expected a number, text, true or false, or a list of one of them");
}

std::uint64_t bits_of(ValueType type, const Json& json) {
  switch (type) {
    case ValueType::kBool:
      return json.get<bool>() ? 1 : 0;
    case ValueType::kUint64:
      return json.get<std::uint64_t>();
    case ValueType::kInt64:
      return static_cast<std::uint64_t>(json.get<std::int64_t>());
    default:
      return std::bit_cast<std::uint64_t>(json.get<double>());
  }
}

/// One type for a whole list: signed when any number is, real when any number is.
ValueType list_type(const std::string& field, const Json& json) {
  ValueType type = ValueType::kUint64;
  for (const Json& entry : json) {
    const ValueType its = type_of(field, entry);
    const bool is_first = &entry == &json.front();
    const bool is_number = its != ValueType::kString && its != ValueType::kBool;
    const bool was_number = type != ValueType::kString && type != ValueType::kBool;
    if (is_first) {
      type = its;
    } else if (is_number != was_number || (!is_number && its != type)) {
      fail(field, json, "expected values of one kind");
    } else if (its == ValueType::kDouble || type == ValueType::kUint64) {
      type = its;
    }
  }
  return type;
}

Attribute attribute_of(const std::string& name, const Json& json) {
  Attribute attribute;
  attribute.name = name;
  attribute.is_list = json.is_array();
  attribute.type = attribute.is_list ? list_type(name, json) : type_of(name, json);
  if (attribute.type == ValueType::kString) {
    if (attribute.is_list) {
      for (const Json& entry : json) attribute.texts.push_back(entry.get<std::string>());
    } else {
      attribute.text = json.get<std::string>();
    }
  } else if (attribute.is_list) {
    for (const Json& entry : json) attribute.numbers.push_back(bits_of(attribute.type, entry));
  } else {
    attribute.number = bits_of(attribute.type, json);
  }
  return attribute;
}

NodeType node_type(const Json& json) {
  if (json.is_string()) {
    const auto type = parse_node_type(json.get_ref<const std::string&>());
    if (!type) fail("NodeType", json, "no such node type; expected a name such as COMP_NODE, or its number");
    return *type;
  }
  const std::uint64_t number = whole("NodeType", json);
  if (number > 0xFFFF'FFFFU) fail("NodeType", json, "no such node type");
  return static_cast<NodeType>(number);
}

}  // namespace

void from_graph_json(const Json& json, Node& node) {
  node.clear();
  if (!json.is_object()) fail("", json, "expected a node, {...}");
  for (const char* required : {"Id", "NodeType"}) {
    if (!json.contains(required)) throw JsonError{required, {}, "missing: every node needs it"};
  }
  for (const auto& [key, value] : json.items()) {
    if (key == "Id") {
      node.id = whole(key, value);
    } else if (key == "Name") {
      if (!value.is_string()) fail(key, value, "expected text");
      node.name = value.get<std::string>();
    } else if (key == "NodeType") {
      node.type = node_type(value);
    } else if (key == "runtime") {
      node.duration_micros = whole(key, value);
    } else if (key == "data_deps") {
      node.data_deps = ids(key, value);
    } else if (key == "ctrl_deps") {
      node.ctrl_deps = ids(key, value);
    } else if (!value.is_null()) {
      node.attributes.push_back(attribute_of(key, value));
    }
  }
}

}  // namespace orrery::chakra
