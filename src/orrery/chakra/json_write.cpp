// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "orrery/chakra/base64.hpp"
#include "orrery/chakra/json_node.hpp"
#include "orrery/chakra/wire.hpp"

namespace orrery::chakra {
namespace {

Json real(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "Infinity" : "-Infinity";
  return value;
}

Json number(ValueType type, std::uint64_t bits) {
  if (type == ValueType::kDouble) return real(std::bit_cast<double>(bits));
  if (type == ValueType::kFloat) {
    return real(static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
  }
  if (type == ValueType::kBool) return bits != 0;
  if (is_signed(type)) return static_cast<std::int64_t>(bits);
  return bits;
}

Json text(ValueType type, const std::string& value) {
  return type == ValueType::kBytes ? to_base64(value) : value;
}

Json value_of(const Attribute& attribute) {
  if (!attribute.is_list) {
    return is_textual(attribute.type) ? text(attribute.type, attribute.text)
                                      : number(attribute.type, attribute.number);
  }
  Json values = Json::array();
  for (const std::string& entry : attribute.texts) values.push_back(text(attribute.type, entry));
  for (const std::uint64_t entry : attribute.numbers) values.push_back(number(attribute.type, entry));
  return Json{{"values", std::move(values)}};
}

void add_attributes(Json& json, const std::vector<Attribute>& attributes) {
  if (attributes.empty()) return;
  Json list = Json::array();
  for (const Attribute& attribute : attributes) {
    Json entry = Json::object();
    if (!attribute.name.empty()) entry["name"] = attribute.name;
    if (!attribute.doc.empty()) entry["doc_string"] = attribute.doc;
    if (attribute.type != ValueType::kNone) {
      entry[fmt::format("{}_{}", to_text(attribute.type), attribute.is_list ? "list" : "val")] =
          value_of(attribute);
    }
    list.push_back(std::move(entry));
  }
  json["attr"] = std::move(list);
}

Json io_json(const IoInfo& info) {
  Json json = Json::object();
  if (!info.values.empty()) json["values"] = info.values;
  if (!info.shapes.empty()) json["shapes"] = info.shapes;
  if (!info.types.empty()) json["types"] = info.types;
  return json;
}

/// Whether reading the text of `json` gives `frame` again.
template <class Message>
bool comes_back(const Json& json, std::string_view frame) {
  try {
    Message message;
    std::string wire;
    from_json(Json::parse(json.dump(-1, ' ', false, Json::error_handler_t::replace)), {}, message, wire);
    std::string scratch;
    std::string bytes;
    encode_frame(message, scratch, bytes);
    return bytes == frame;
  } catch (const JsonError&) {
    return false;
  }
}

template <class Message>
Json lossless(const Message& message, std::string_view frame) {
  Json json = to_json(message);
  if (!frame.empty() && !comes_back<Message>(json, frame)) json["wire"] = to_base64(frame);
  return json;
}

}  // namespace

Json to_json(const Node& node) {
  Json json{{"id", node.id}};
  if (!node.name.empty()) json["name"] = node.name;
  const std::string_view type = to_text(node.type);
  if (type.empty()) {
    json["type"] = static_cast<std::uint32_t>(node.type);
  } else {
    json["type"] = type;
  }
  if (!node.ctrl_deps.empty()) json["ctrl_deps"] = node.ctrl_deps;
  if (!node.data_deps.empty()) json["data_deps"] = node.data_deps;
  if (node.start_time_micros != 0) json["start_time_micros"] = node.start_time_micros;
  if (node.duration_micros != 0) json["duration_micros"] = node.duration_micros;
  if (node.inputs) json["inputs"] = io_json(*node.inputs);
  if (node.outputs) json["outputs"] = io_json(*node.outputs);
  add_attributes(json, node.attributes);
  return json;
}

Json to_json(const GlobalMetadata& metadata) {
  Json json = Json::object();
  if (!metadata.version.empty()) json["version"] = metadata.version;
  add_attributes(json, metadata.attributes);
  return json;
}

Json to_json(const Node& node, std::string_view frame) { return lossless(node, frame); }

Json to_json(const GlobalMetadata& metadata, std::string_view frame) { return lossless(metadata, frame); }

}  // namespace orrery::chakra
