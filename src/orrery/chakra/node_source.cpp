// SPDX-License-Identifier: Apache-2.0
#include "orrery/chakra/node_source.hpp"

#include <fmt/format.h>

#include <utility>

namespace orrery::chakra {

bool NodeSource::next_of(NodeType type, Node& node) {
  while (next(node)) {
    if (node.type == type) return true;
  }
  return false;
}

InputError NodeSource::error(const Node& node, std::string_view field, std::string value,
                             std::string expected, std::string nearest) const {
  constexpr std::size_t kShown = 80;
  const std::string name = node.name.size() > kShown ? node.name.substr(0, kShown) + "..." : node.name;
  std::string where = fmt::format("{}: node {} '{}'", place(), node.id, name);
  if (!field.empty()) where += fmt::format(": {}", field);
  return InputError{{.source = name_,
                     .position = {},
                     .field = std::move(where),
                     .value = std::move(value),
                     .expected = std::move(expected),
                     .nearest = std::move(nearest)}};
}

void NodeSource::fail(std::string place, std::string expected) const {
  throw InputError{{.source = name_,
                    .position = {},
                    .field = std::move(place),
                    .value = {},
                    .expected = std::move(expected),
                    .nearest = {}}};
}

bool is_json_name(std::string_view path) { return path.ends_with(".json") || path.ends_with(".json.gz"); }

std::unique_ptr<NodeSource> open_nodes(const std::string& path, const Limits& limits) {
  if (is_json_name(path)) return read_json(open_bytes(path), path, limits);
  return read_et(open_bytes(path), path, limits);
}

}  // namespace orrery::chakra
