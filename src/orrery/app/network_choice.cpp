// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/network_choice.hpp"

#include <algorithm>
#include <filesystem>

namespace orrery::app {
namespace {

NetworkChoice prepare(const network::NetworkRegistry::Entry& entry, const config::Cursor& settings) {
  return {.name = entry.name,
          .resolved = entry.name + " " + entry.resolve(settings),
          .build = entry.prepare(settings)};
}

bool is_file(const std::string& text) {
  std::error_code ignored;
  return text.ends_with(".yaml") || text.ends_with(".yml") || text.ends_with(".json") ||
         std::filesystem::is_regular_file(text, ignored);
}

NetworkChoice from_file(const std::string& path, const network::NetworkRegistry& registry) {
  const config::Document document = config::Document::load(path);
  const config::Cursor at{document};
  at.expect_keys(registry.names());
  if (at.node().entries.size() != 1) {
    at.fail("expected one network model, such as {flow: {resolve_delay: 1us}}");
  }
  const config::Entry& only = at.node().entries.front();
  const network::NetworkRegistry::Entry& entry = registry.get(only.key, path);
  if (only.value.kind != config::Kind::kNull) return prepare(entry, at.at(only.key));
  const config::Document defaults = config::Document::parse("{}", path);
  return prepare(entry, config::Cursor{defaults});
}

}  // namespace

NetworkChoice choose_network(const std::string& text, const network::NetworkRegistry& registry,
                             const std::string& source) {
  std::string name;
  const config::Document settings = config::Document::from_line(text, source, name);
  const std::vector<std::string> names = registry.names();
  const bool is_known = std::ranges::find(names, name) != names.end();
  if (!is_known && is_file(text)) return from_file(text, registry);
  return prepare(registry.get(name, source), config::Cursor{settings});
}

}  // namespace orrery::app
