// SPDX-License-Identifier: Apache-2.0
#include <iterator>
#include <protozero/pbf_writer.hpp>
#include <protozero/varint.hpp>

#include "orrery/chakra/wire.hpp"

namespace orrery::chakra {
namespace {

using protozero::pbf_writer;

void add_text(pbf_writer& writer, std::uint32_t tag, const std::string& text) {
  if (!text.empty()) writer.add_string(tag, text);
}

void add_scalar(pbf_writer& writer, std::uint32_t tag, ValueType type, std::uint64_t bits) {
  switch (type) {
    case ValueType::kDouble:
    case ValueType::kFixed64:
    case ValueType::kSfixed64:
      return writer.add_fixed64(tag, bits);
    case ValueType::kFloat:
    case ValueType::kFixed32:
    case ValueType::kSfixed32:
      return writer.add_fixed32(tag, static_cast<std::uint32_t>(bits));
    case ValueType::kSint32:
    case ValueType::kSint64:
      return writer.add_sint64(tag, static_cast<std::int64_t>(bits));
    default:
      return writer.add_uint64(tag, bits);
  }
}

/// A nested message that may be empty: protozero leaves empty ones out, the schema tells them from absent ones.
template <class Fill>
void add_message(pbf_writer& parent, std::uint32_t tag, bool is_empty, Fill fill) {
  if (is_empty) return parent.add_message(tag, "", 0);
  pbf_writer writer{parent, tag};
  fill(writer);
}

void add_list(pbf_writer& list, const Attribute& attribute) {
  const auto first = attribute.numbers.begin();
  const auto last = attribute.numbers.end();
  switch (attribute.type) {
    case ValueType::kDouble:
    case ValueType::kFixed64:
    case ValueType::kSfixed64:
      return list.add_packed_fixed64(1, first, last);
    case ValueType::kFloat:
    case ValueType::kFixed32:
    case ValueType::kSfixed32:
      return list.add_packed_fixed32(1, first, last);
    case ValueType::kSint32:
    case ValueType::kSint64:
      return list.add_packed_sint64(1, first, last);
    case ValueType::kString:
    case ValueType::kBytes:
      for (const std::string& text : attribute.texts) list.add_bytes(1, text);
      return;
    default:
      return list.add_packed_uint64(1, first, last);
  }
}

void add_value(pbf_writer& writer, const Attribute& attribute) {
  if (attribute.type == ValueType::kNone) return;
  const std::uint32_t tag =
      kFirstValueField + 2 * (static_cast<std::uint32_t>(attribute.type) - 1) + (attribute.is_list ? 1 : 0);
  if (attribute.is_list) {
    add_message(writer, tag, attribute.numbers.empty() && attribute.texts.empty(),
                [&](pbf_writer& list) { add_list(list, attribute); });
  } else if (is_textual(attribute.type)) {
    writer.add_bytes(tag, attribute.text);
  } else {
    add_scalar(writer, tag, attribute.type, attribute.number);
  }
}

void add_attribute(pbf_writer& parent, std::uint32_t tag, const Attribute& attribute) {
  const bool is_empty = attribute.name.empty() && attribute.doc.empty() && attribute.type == ValueType::kNone;
  add_message(parent, tag, is_empty, [&](pbf_writer& writer) {
    add_text(writer, 1, attribute.name);
    add_text(writer, 2, attribute.doc);
    add_value(writer, attribute);
  });
}

void add_io(pbf_writer& parent, std::uint32_t tag, const std::optional<IoInfo>& info) {
  if (!info) return;
  add_message(parent, tag, *info == IoInfo{}, [&](pbf_writer& writer) {
    add_text(writer, 1, info->values);
    add_text(writer, 2, info->shapes);
    add_text(writer, 3, info->types);
  });
}

template <class Message>
void frame(const Message& message, std::string& scratch, std::string& out) {
  scratch.clear();
  encode(message, scratch);
  protozero::write_varint(std::back_inserter(out), scratch.size());
  out += scratch;
}

}  // namespace

void encode(const Node& node, std::string& out) {
  pbf_writer writer{out};
  if (node.id != 0) writer.add_uint64(1, node.id);
  add_text(writer, 2, node.name);
  if (node.type != NodeType::kInvalid) {
    writer.add_enum(3, static_cast<std::int32_t>(node.type));
  }
  writer.add_packed_uint64(4, node.ctrl_deps.begin(), node.ctrl_deps.end());
  writer.add_packed_uint64(5, node.data_deps.begin(), node.data_deps.end());
  if (node.start_time_micros != 0) writer.add_uint64(6, node.start_time_micros);
  if (node.duration_micros != 0) writer.add_uint64(7, node.duration_micros);
  add_io(writer, 8, node.inputs);
  add_io(writer, 9, node.outputs);
  for (const Attribute& attribute : node.attributes) add_attribute(writer, 10, attribute);
}

void encode(const GlobalMetadata& metadata, std::string& out) {
  pbf_writer writer{out};
  add_text(writer, 1, metadata.version);
  for (const Attribute& attribute : metadata.attributes) add_attribute(writer, 2, attribute);
}

void encode_frame(const Node& node, std::string& scratch, std::string& out) { frame(node, scratch, out); }

void encode_frame(const GlobalMetadata& metadata, std::string& scratch, std::string& out) {
  frame(metadata, scratch, out);
}

}  // namespace orrery::chakra
