// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Protobuf bytes to messages and back. Writing is canonical: fields by number, defaults left out, numbers packed;
/// that is what the protobuf libraries write, so their files come back byte for byte.
#include <string>
#include <string_view>

#include "orrery/chakra/node.hpp"

namespace orrery::chakra {

/// Why a message cannot be read, and where in it.
struct WireError {
  std::size_t offset = 0;
  std::string expected;
};

/// Throw WireError. Fields that the schema does not have are passed over.
void decode(std::string_view message, const Limits& limits, Node& node);
void decode(std::string_view message, const Limits& limits, GlobalMetadata& metadata);
/// Only the type of a node, at little cost.
[[nodiscard]] NodeType decode_type(std::string_view message);

/// Append to `out`.
void encode(const Node& node, std::string& out);
void encode(const GlobalMetadata& metadata, std::string& out);

/// The same with the length in front, as it stands in a file; `scratch` keeps its memory between calls.
void encode_frame(const Node& node, std::string& scratch, std::string& out);
void encode_frame(const GlobalMetadata& metadata, std::string& scratch, std::string& out);

}  // namespace orrery::chakra
