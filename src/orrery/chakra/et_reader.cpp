// SPDX-License-Identifier: Apache-2.0
// ET files: one message after another, the first about the file, the others nodes.
#include <fmt/format.h>

#include <protozero/pbf_reader.hpp>
#include <utility>

#include "orrery/base/text.hpp"
#include "orrery/chakra/frame_reader.hpp"
#include "orrery/chakra/node_source.hpp"
#include "orrery/chakra/wire.hpp"

namespace orrery::chakra {
namespace {

constexpr std::string_view kOldSchema =
    "written with a Chakra schema before 0.0.4, whose nodes and collectives are numbered otherwise; make the "
    "trace again with current Chakra tools";

/// "0.0.3" and before, back to "0.0.1".
bool is_old_version(std::string_view version) {
  const std::vector<std::string_view> parts = split(version, '.');
  if (parts.size() != 3 || parts[0] != "0" || parts[1] != "0") return false;
  const auto patch = parse_integer(parts[2]);
  return patch.has_value() && *patch <= 3;
}

/// Whether a first message is a node: the oldest files have nothing before their nodes.
bool starts_like_a_node(std::string_view message) {
  try {
    protozero::pbf_reader reader{message.data(), message.size()};
    return reader.next() && reader.tag() == 1 && reader.wire_type() == protozero::pbf_wire_type::varint;
  } catch (const protozero::exception&) {
    return false;
  }
}

/// Whether the attributes stand in field 11, where they stood before 0.0.4. Later schemas have a message there too,
/// of storage nodes; it starts with a number, an attribute with its name.
bool has_old_attributes(std::string_view message) {
  try {
    protozero::pbf_reader reader{message.data(), message.size()};
    while (reader.next()) {
      if (reader.tag() == 11 && reader.wire_type() == protozero::pbf_wire_type::length_delimited) {
        protozero::pbf_reader field = reader.get_message();
        return field.next() && field.tag() == 1 &&
               field.wire_type() == protozero::pbf_wire_type::length_delimited;
      }
      reader.skip();
    }
  } catch (const protozero::exception&) {  // Whatever field 11 holds, it is no attribute.
  }
  return false;
}

class EtReader final : public NodeSource {
 public:
  EtReader(std::unique_ptr<ByteSource> bytes, std::string name, const Limits& limits)
      : NodeSource{name, limits}, frames_{std::move(bytes), std::move(name), limits.message_bytes} {
    if (!frames_.next()) fail("byte 0", "the file is empty; expected a Chakra trace");
    if (starts_like_a_node(frames_.message())) fail("byte 0", std::string{kOldSchema});
    try {
      decode(frames_.message(), limits, metadata_);
    } catch (const WireError& error) {
      fail(at(error), "not a Chakra trace: " + error.expected);
    }
    if (is_old_version(metadata_.version)) {
      fail("byte 0", fmt::format("version '{}': {}", metadata_.version, kOldSchema));
    }
    metadata_frame_ = frames_.frame();
  }

  bool next(Node& node) override {
    if (!frames_.next()) return false;
    read(node);
    return true;
  }

  bool next_of(NodeType type, Node& node) override {
    while (frames_.next()) {
      try {
        if (decode_type(frames_.message()) != type) continue;
      } catch (const WireError& error) {
        refuse(error);
      }
      read(node);
      return true;
    }
    return false;
  }

  [[nodiscard]] std::string place() const override { return fmt::format("byte {}", frames_.offset()); }
  [[nodiscard]] std::string_view frame() const override { return frames_.frame(); }

 private:
  void read(Node& node) {
    try {
      decode(frames_.message(), limits(), node);
      // Without a version, only the fields can tell; it is enough to look at nodes that have no attribute.
      if (metadata_.version.empty() && node.attributes.empty() && has_old_attributes(frames_.message())) {
        fail(place(), std::string{kOldSchema});
      }
    } catch (const WireError& error) {
      refuse(error);
    }
  }

  [[nodiscard]] std::string at(const WireError& error) const {
    return fmt::format("byte {}", frames_.message_offset() + error.offset);
  }
  [[noreturn]] void refuse(const WireError& error) const { fail(at(error), error.expected); }

  FrameReader frames_;
};

}  // namespace

std::unique_ptr<NodeSource> read_et(std::unique_ptr<ByteSource> bytes, std::string name,
                                    const Limits& limits) {
  return std::make_unique<EtReader>(std::move(bytes), std::move(name), limits);
}

}  // namespace orrery::chakra
