// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>
#include <cctype>
#include <cmath>
#include <limits>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/chakra/base64.hpp"
#include "orrery/chakra/json_node.hpp"
#include "orrery/chakra/wire.hpp"

namespace orrery::chakra {
namespace {

std::string shown(const Json& json) {
  return json.dump(-1, ' ', true, Json::error_handler_t::replace).substr(0, 200);
}

[[noreturn]] void fail(const std::string& field, const Json& value, std::string expected) {
  throw JsonError{.field = field, .value = shown(value), .expected = std::move(expected)};
}

/// "dataDeps" and "data_deps" are the same.
std::string snake_case(std::string_view key) {
  std::string out;
  for (const char c : key) {
    if (c >= 'A' && c <= 'Z') {
      out.push_back('_');
      out.push_back(static_cast<char>(c - 'A' + 'a'));
    } else {
      out.push_back(c);
    }
  }
  return out;
}

/// A whole number, or one in quotes, in `least` to `most`.
std::uint64_t integer(const std::string& field, const Json& json, bool is_signed, unsigned bits) {
  const unsigned room = is_signed ? bits - 1 : bits;
  const std::uint64_t most = room == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << room) - 1;
  Json value = json;
  if (value.is_string()) {
    const auto& text = value.get_ref<const std::string&>();
    const bool is_plain = !text.empty() && text.size() <= 20 &&
                          (text[0] == '-' || std::isdigit(static_cast<unsigned char>(text[0])) != 0);
    value = is_plain ? Json::parse(text, nullptr, false) : Json{};
  }
  const std::string expected =
      fmt::format("expected a whole number, {} to {}", is_signed ? fmt::format("-{}", most + 1) : "0", most);
  if (!value.is_number_integer()) fail(field, json, expected);
  if (value.is_number_unsigned()) {
    if (value.get<std::uint64_t>() > most) fail(field, json, expected);
    return value.get<std::uint64_t>();
  }
  const auto negative = value.get<std::int64_t>();
  const bool is_too_small = negative < 0 && (!is_signed || negative < -static_cast<std::int64_t>(most) - 1);
  if (is_too_small) fail(field, json, expected);
  return static_cast<std::uint64_t>(negative);
}

std::uint64_t uint64(const std::string& field, const Json& json) { return integer(field, json, false, 64); }

const std::string& text(const std::string& field, const Json& json) {
  if (!json.is_string()) fail(field, json, "expected text");
  return json.get_ref<const std::string&>();
}

double real(const std::string& field, const Json& json) {
  if (json.is_number()) return json.get<double>();
  if (json.is_string()) {
    const auto& word = json.get_ref<const std::string&>();
    if (word == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (word == "Infinity") return std::numeric_limits<double>::infinity();
    if (word == "-Infinity") return -std::numeric_limits<double>::infinity();
    if (const auto number = parse_number(word)) return *number;
  }
  fail(field, json, "expected a number");
}

std::uint64_t number(const std::string& field, ValueType type, const Json& json) {
  switch (type) {
    case ValueType::kDouble:
      return std::bit_cast<std::uint64_t>(real(field, json));
    case ValueType::kFloat: {
      const double value = real(field, json);
      if (std::isfinite(value) && std::abs(value) > static_cast<double>(std::numeric_limits<float>::max())) {
        fail(field, json, "too large for a float");
      }
      return std::bit_cast<std::uint32_t>(static_cast<float>(value));
    }
    case ValueType::kBool:
      if (!json.is_boolean()) fail(field, json, "expected true or false");
      return json.get<bool>() ? 1 : 0;
    case ValueType::kInt32:
    case ValueType::kUint32:
    case ValueType::kSint32:
    case ValueType::kFixed32:
    case ValueType::kSfixed32:
      return integer(field, json, is_signed(type), 32);
    default:
      return integer(field, json, is_signed(type), 64);
  }
}

std::string textual(const std::string& field, ValueType type, const Json& json) {
  const std::string& value = text(field, json);
  if (type == ValueType::kString) return value;
  auto bytes = from_base64(value);
  if (!bytes) fail(field, json, "expected base64");
  return *std::move(bytes);
}

void read_list(const std::string& field, const Json& json, Attribute& attribute) {
  if (!json.is_object()) fail(field, json, R"(expected {"values": [...]})");
  for (const auto& [key, values] : json.items()) {
    if (key != "values" || !values.is_array()) {
      fail(field + "." + key, values, "expected only a list 'values'");
    }
    for (const Json& value : values) {
      if (is_textual(attribute.type)) {
        attribute.texts.push_back(textual(field, attribute.type, value));
      } else {
        attribute.numbers.push_back(number(field, attribute.type, value));
      }
    }
  }
}

void read_value(const std::string& field, const std::string& key, const Json& json, Attribute& attribute) {
  const bool is_list = key.ends_with("_list");
  const std::size_t ending = is_list ? 5 : 4;
  const auto type = is_list || key.ends_with("_val")
                        ? parse_value_type(std::string_view{key}.substr(0, key.size() - ending))
                        : std::nullopt;
  if (!type) fail(field, json, "unknown key; expected name, doc_string, or a value such as int64_val");
  if (attribute.type != ValueType::kNone) fail(field, json, "an attribute has one value");
  attribute.type = *type;
  attribute.is_list = is_list;
  if (is_list) return read_list(field, json, attribute);
  if (is_textual(*type)) {
    attribute.text = textual(field, *type, json);
  } else {
    attribute.number = number(field, *type, json);
  }
}

void read_attributes(const Json& json, const Limits& limits, std::vector<Attribute>& attributes) {
  if (!json.is_array()) fail("attr", json, "expected a list");
  if (json.size() > limits.attributes) {
    throw JsonError{"attr", {}, fmt::format("more than {} attributes", limits.attributes)};
  }
  for (std::size_t i = 0; i < json.size(); ++i) {
    const std::string field = fmt::format("attr[{}]", i);
    if (!json[i].is_object()) fail(field, json[i], "expected an object");
    Attribute& attribute = attributes.emplace_back();
    for (const auto& [key, value] : json[i].items()) {
      const std::string name = snake_case(key);
      if (name == "name") {
        attribute.name = text(field + ".name", value);
      } else if (name == "doc_string") {
        attribute.doc = text(field + ".doc_string", value);
      } else {
        read_value(fmt::format("{}.{}", field, key), name, value, attribute);
      }
    }
  }
}

IoInfo read_io(const std::string& field, const Json& json) {
  if (!json.is_object()) fail(field, json, "expected an object");
  IoInfo info;
  for (const auto& [key, value] : json.items()) {
    const std::string inner = field + "." + key;
    if (key == "values") {
      info.values = text(inner, value);
    } else if (key == "shapes") {
      info.shapes = text(inner, value);
    } else if (key == "types") {
      info.types = text(inner, value);
    } else {
      fail(inner, value, "unknown key; expected values, shapes, types");
    }
  }
  return info;
}

NodeType read_type(const std::string& field, const Json& json) {
  if (!json.is_string()) return static_cast<NodeType>(integer(field, json, false, 32));
  const auto type = parse_node_type(json.get_ref<const std::string&>());
  if (!type) fail(field, json, "no such node type; expected a name such as COMP_NODE");
  return *type;
}

std::vector<std::uint64_t> read_ids(const std::string& field, const Json& json) {
  if (!json.is_array()) fail(field, json, "expected a list of ids");
  std::vector<std::uint64_t> ids;
  for (const Json& id : json) ids.push_back(uint64(field, id));
  return ids;
}

void read_field(const std::string& key, const std::string& shown_key, const Json& value, const Limits& limits,
                Node& node) {
  if (key == "id") {
    node.id = uint64(key, value);
  } else if (key == "name") {
    node.name = text(key, value);
  } else if (key == "type") {
    node.type = read_type(key, value);
  } else if (key == "ctrl_deps") {
    node.ctrl_deps = read_ids(key, value);
  } else if (key == "data_deps") {
    node.data_deps = read_ids(key, value);
  } else if (key == "start_time_micros") {
    node.start_time_micros = uint64(key, value);
  } else if (key == "duration_micros") {
    node.duration_micros = uint64(key, value);
  } else if (key == "inputs") {
    node.inputs = read_io(key, value);
  } else if (key == "outputs") {
    node.outputs = read_io(key, value);
  } else if (key == "attr") {
    read_attributes(value, limits, node.attributes);
  } else if (key != "wire" && key != "storage") {  // Storage details mean nothing to us.
    const std::vector<std::string> known{
        "id",     "name",    "type", "ctrl_deps", "data_deps", "start_time_micros", "duration_micros",
        "inputs", "outputs", "attr", "wire"};
    throw JsonError{shown_key, {}, "unknown key of a node", nearest_name(key, known)};
  }
}

/// The frame in "wire"; its message must say what the other keys say.
template <class Message>
std::string read_wire(const Json& json, const Limits& limits, const Message& message) {
  const auto found = json.find("wire");
  if (found == json.end()) return {};
  const auto frame = from_base64(text("wire", *found));
  if (!frame) fail("wire", *found, "expected base64");
  std::size_t prefix = 0;
  while (prefix < frame->size() && (static_cast<unsigned char>((*frame)[prefix]) & 0x80U) != 0) ++prefix;
  ++prefix;
  std::uint64_t length = 0;
  for (std::size_t i = 0; i < prefix && i < frame->size() && i < 9; ++i) {
    length |= (static_cast<std::uint64_t>((*frame)[i]) & 0x7FU) << (7 * i);
  }
  if (prefix > 10 || prefix > frame->size() || length != frame->size() - prefix) {
    fail("wire", *found, "expected one message behind its length");
  }
  Message decoded;
  try {
    decode(std::string_view{*frame}.substr(prefix), limits, decoded);
  } catch (const WireError& error) {
    fail("wire", *found, error.expected);
  }
  const auto plain = [](const Message& any) {
    return to_json(any).dump(-1, ' ', false, Json::error_handler_t::replace);
  };
  // Text that is no UTF-8 has become replacement characters in the keys; so it does here.
  if (plain(decoded) != plain(message)) {
    fail("wire", *found, "does not say what the other keys say; remove it to keep those");
  }
  return *frame;
}

}  // namespace

void from_json(const Json& json, const Limits& limits, Node& node, std::string& frame) {
  node.clear();
  if (!json.is_object()) fail("", json, "expected a node, {...}");
  for (const auto& [key, value] : json.items()) read_field(snake_case(key), key, value, limits, node);
  frame = read_wire(json, limits, node);
}

void from_json(const Json& json, const Limits& limits, GlobalMetadata& metadata, std::string& frame) {
  metadata = {};
  if (!json.is_object()) fail("metadata", json, "expected an object");
  for (const auto& [key, value] : json.items()) {
    if (key == "version") {
      metadata.version = text(key, value);
    } else if (key == "attr") {
      read_attributes(value, limits, metadata.attributes);
    } else if (key != "wire") {
      throw JsonError{key, {}, "unknown key of the metadata; expected version, attr"};
    }
  }
  frame = read_wire(json, limits, metadata);
}

}  // namespace orrery::chakra
