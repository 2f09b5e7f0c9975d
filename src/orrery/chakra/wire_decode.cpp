// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <protozero/pbf_reader.hpp>

#include "orrery/chakra/wire.hpp"

namespace orrery::chakra {
namespace {

using protozero::pbf_reader;
using protozero::pbf_wire_type;

std::string_view view_of(const protozero::data_view& data) { return {data.data(), data.size()}; }

/// What one decoding carries along.
struct Scope {
  const Limits& limits;
  std::size_t values = 0;  // Of lists, so far.
};

[[noreturn]] void fail(std::string expected) {
  throw WireError{.offset = 0, .expected = std::move(expected)};
}

void require(const pbf_reader& reader, pbf_wire_type type, std::string_view what) {
  if (reader.wire_type() == type) return;
  fail(fmt::format("field {} is not encoded as {}", static_cast<std::uint32_t>(reader.tag()), what));
}

std::string_view text_of(pbf_reader& reader, std::string_view what) {
  require(reader, pbf_wire_type::length_delimited, what);
  return view_of(reader.get_view());
}

std::uint64_t varint_of(pbf_reader& reader, std::string_view what) {
  require(reader, pbf_wire_type::varint, what);
  return reader.get_uint64();
}

std::string_view name_of(pbf_reader& reader, const Limits& limits) {
  const std::string_view name = text_of(reader, "a name");
  if (name.size() > limits.name_bytes) {
    fail(fmt::format("a name of {} bytes, at most {} are accepted", name.size(), limits.name_bytes));
  }
  return name;
}

void charge(Scope& scope, std::size_t count) {
  scope.values += count;
  if (scope.values > scope.limits.values) {
    fail(fmt::format("more than {} values in one message", scope.limits.values));
  }
}

/// How a value stands on the wire.
pbf_wire_type wire_type_of(ValueType type) {
  switch (type) {
    case ValueType::kDouble:
    case ValueType::kFixed64:
    case ValueType::kSfixed64:
      return pbf_wire_type::fixed64;
    case ValueType::kFloat:
    case ValueType::kFixed32:
    case ValueType::kSfixed32:
      return pbf_wire_type::fixed32;
    case ValueType::kString:
    case ValueType::kBytes:
      return pbf_wire_type::length_delimited;
    default:
      return pbf_wire_type::varint;
  }
}

std::uint64_t extended(std::int64_t value) { return static_cast<std::uint64_t>(value); }

/// The 64 bits we keep of what was read raw.
std::uint64_t kept(ValueType type, std::uint64_t raw) {
  switch (type) {
    case ValueType::kInt32:
    case ValueType::kSfixed32:
      return extended(static_cast<std::int32_t>(raw));
    case ValueType::kUint32:
      return static_cast<std::uint32_t>(raw);
    case ValueType::kSint32:
      return extended(protozero::decode_zigzag32(static_cast<std::uint32_t>(raw)));
    case ValueType::kSint64:
      return extended(protozero::decode_zigzag64(raw));
    case ValueType::kBool:
      return raw == 0 ? 0 : 1;
    default:
      return raw;
  }
}

std::uint64_t raw_number(pbf_reader& reader, ValueType type) {
  switch (wire_type_of(type)) {
    case pbf_wire_type::fixed64:
      return reader.get_fixed64();
    case pbf_wire_type::fixed32:
      return reader.get_fixed32();
    default:
      return reader.get_uint64();
  }
}

template <class Range>
void append(const Range& range, ValueType type, Scope& scope, std::vector<std::uint64_t>& out) {
  for (const auto value : range) {
    charge(scope, 1);
    out.push_back(kept(type, value));
  }
}

/// One occurrence of a repeated number: packed or a single one.
void numbers_of(pbf_reader& reader, ValueType type, Scope& scope, std::vector<std::uint64_t>& out) {
  if (reader.wire_type() == wire_type_of(type)) {
    charge(scope, 1);
    out.push_back(kept(type, raw_number(reader, type)));
    return;
  }
  require(reader, pbf_wire_type::length_delimited, "a list of numbers");
  switch (wire_type_of(type)) {
    case pbf_wire_type::fixed64:
      return append(reader.get_packed_fixed64(), type, scope, out);
    case pbf_wire_type::fixed32:
      return append(reader.get_packed_fixed32(), type, scope, out);
    default:
      return append(reader.get_packed_uint64(), type, scope, out);
  }
}

void decode_list(pbf_reader list, Scope& scope, Attribute& attribute) {
  while (list.next()) {
    if (list.tag() != 1) {
      list.skip();
    } else if (is_textual(attribute.type)) {
      charge(scope, 1);
      attribute.texts.emplace_back(text_of(list, "text"));
    } else {
      numbers_of(list, attribute.type, scope, attribute.numbers);
    }
  }
}

void decode_value(pbf_reader& reader, Scope& scope, Attribute& attribute) {
  const std::uint32_t index = static_cast<std::uint32_t>(reader.tag()) - kFirstValueField;
  const auto type = static_cast<ValueType>(index / 2 + 1);
  const bool is_list = index % 2 == 1;
  if (attribute.type != type || attribute.is_list != is_list) {  // The last kind of value counts.
    attribute.numbers.clear();
    attribute.texts.clear();
    attribute.text.clear();
    attribute.number = 0;
  }
  attribute.type = type;
  attribute.is_list = is_list;
  if (is_list) {
    require(reader, pbf_wire_type::length_delimited, "a list");
    return decode_list(reader.get_message(), scope, attribute);
  }
  require(reader, wire_type_of(type), to_text(type));
  if (is_textual(type)) {
    attribute.text = view_of(reader.get_view());
  } else {
    attribute.number = kept(type, raw_number(reader, type));
  }
}

void decode_attribute(pbf_reader reader, Scope& scope, Attribute& attribute) {
  while (reader.next()) {
    const auto tag = static_cast<std::uint32_t>(reader.tag());
    if (tag == 1) {
      attribute.name = name_of(reader, scope.limits);
    } else if (tag == 2) {
      attribute.doc = text_of(reader, "a description");
    } else if (tag >= kFirstValueField && tag <= kLastValueField) {
      decode_value(reader, scope, attribute);
    } else {
      reader.skip();
    }
  }
}

void add_attribute(pbf_reader& reader, Scope& scope, std::vector<Attribute>& attributes) {
  require(reader, pbf_wire_type::length_delimited, "an attribute");
  if (attributes.size() == scope.limits.attributes) {
    fail(fmt::format("more than {} attributes", scope.limits.attributes));
  }
  decode_attribute(reader.get_message(), scope, attributes.emplace_back());
}

void decode_io(pbf_reader& outer, std::optional<IoInfo>& info) {
  require(outer, pbf_wire_type::length_delimited, "a message");
  pbf_reader reader = outer.get_message();
  if (!info) info.emplace();
  while (reader.next()) {
    switch (reader.tag()) {
      case 1:
        info->values = text_of(reader, "text");
        break;
      case 2:
        info->shapes = text_of(reader, "text");
        break;
      case 3:
        info->types = text_of(reader, "text");
        break;
      default:
        reader.skip();
    }
  }
}

void decode_field(pbf_reader& reader, Scope& scope, Node& node) {
  switch (reader.tag()) {
    case 1:
      node.id = varint_of(reader, "an id");
      break;
    case 2:
      node.name = name_of(reader, scope.limits);
      break;
    case 3:
      node.type = static_cast<NodeType>(varint_of(reader, "a node type"));
      break;
    case 4:
      numbers_of(reader, ValueType::kUint64, scope, node.ctrl_deps);
      break;
    case 5:
      numbers_of(reader, ValueType::kUint64, scope, node.data_deps);
      break;
    case 6:
      node.start_time_micros = varint_of(reader, "a start time");
      break;
    case 7:
      node.duration_micros = varint_of(reader, "a duration");
      break;
    case 8:
      decode_io(reader, node.inputs);
      break;
    case 9:
      decode_io(reader, node.outputs);
      break;
    case 10:
      add_attribute(reader, scope, node.attributes);
      break;
    default:
      reader.skip();
  }
}

/// Runs `each` on every field; what goes wrong becomes a WireError with the offset of its field.
template <class Each>
void for_fields(std::string_view message, Each each) {
  pbf_reader reader{message.data(), message.size()};
  std::size_t at = 0;
  try {
    while (reader.next()) {
      each(reader);
      at = message.size() - reader.length();
    }
  } catch (WireError& error) {
    error.offset = at;
    throw;
  } catch (const protozero::exception& error) {
    throw WireError{.offset = at, .expected = fmt::format("not a protobuf message: {}", error.what())};
  }
}

}  // namespace

void decode(std::string_view message, const Limits& limits, Node& node) {
  node.clear();
  Scope scope{.limits = limits};
  for_fields(message, [&](pbf_reader& reader) { decode_field(reader, scope, node); });
}

void decode(std::string_view message, const Limits& limits, GlobalMetadata& metadata) {
  metadata = {};
  Scope scope{.limits = limits};
  for_fields(message, [&](pbf_reader& reader) {
    switch (reader.tag()) {
      case 1:
        metadata.version = name_of(reader, limits);
        break;
      case 2:
        add_attribute(reader, scope, metadata.attributes);
        break;
      default:
        reader.skip();
    }
  });
}

NodeType decode_type(std::string_view message) {
  NodeType type = NodeType::kInvalid;
  for_fields(message, [&](pbf_reader& reader) {
    if (reader.tag() == 3) {
      type = static_cast<NodeType>(varint_of(reader, "a node type"));
    } else {
      reader.skip();
    }
  });
  return type;
}

}  // namespace orrery::chakra
