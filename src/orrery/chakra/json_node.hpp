// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Nodes as JSON and back: the JSON mapping of protobuf with the schema's own names (data_deps, int64_val), numbers as
/// numbers. Where that cannot say everything (unknown fields, text that is not UTF-8, unusual encodings), "wire" holds
/// the bytes of the file too, so that nothing is ever lost.
#include <string>
#include <string_view>

#include "orrery/chakra/json_stream.hpp"
#include "orrery/chakra/node.hpp"

namespace orrery::chakra {

/// What is wrong with a value.
struct JsonError {
  std::string field;
  std::string value;
  std::string expected;
  std::string nearest{};
};

[[nodiscard]] Json to_json(const Node& node);
[[nodiscard]] Json to_json(const GlobalMetadata& metadata);
/// With "wire" when reading the JSON would not give `frame` back; "" = any encoding will do.
[[nodiscard]] Json to_json(const Node& node, std::string_view frame);
[[nodiscard]] Json to_json(const GlobalMetadata& metadata, std::string_view frame);

/// Throw JsonError. Keys in camel case and numbers in quotes are accepted, as protobuf's own readers do. `frame`
/// becomes what "wire" holds, "" without it.
void from_json(const Json& json, const Limits& limits, Node& node, std::string& frame);
void from_json(const Json& json, const Limits& limits, GlobalMetadata& metadata, std::string& frame);
/// An entry of a "workload_graph": Id, Name, NodeType, runtime and dependencies; every other key is an attribute.
void from_graph_json(const Json& json, Node& node);

}  // namespace orrery::chakra
