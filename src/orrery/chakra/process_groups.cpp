// SPDX-License-Identifier: Apache-2.0
#include "orrery/chakra/process_groups.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>

#include "orrery/base/text.hpp"
#include "orrery/config/document.hpp"

namespace orrery::chakra {
namespace {

using Json = nlohmann::json;
using workload::Rank;

/// A Python string literal or list of literals around JSON: what is inside the quotes, with escapes undone.
std::string unquoted(std::string_view text) {
  std::string out;
  const char quote = text.front();
  for (std::size_t i = 1; i < text.size() && text[i] != quote; ++i) {
    if (text[i] == '\\' && i + 1 < text.size()) ++i;
    out.push_back(text[i]);
  }
  return out;
}

/// The list of groups as JSON, from any of the forms it is found in; null when there is none.
Json groups_json(std::string_view text) {
  constexpr int kWraps = 4;  // A list, a string in it, and once more for tracers that quote twice.
  std::string inner{trim(text)};
  for (int i = 0; i < kWraps; ++i) {
    Json json = Json::parse(inner, nullptr, false);
    if (json.is_array() && !json.empty() && json.front().is_object()) return json;
    if (json.is_array() && !json.empty() && json.front().is_string()) {
      inner = json.front().get<std::string>();
    } else if (json.is_string()) {
      inner = json.get<std::string>();
    } else {
      const std::size_t start = inner.find_first_not_of("[( ");
      if (start == std::string::npos || (inner[start] != '\'' && inner[start] != '"')) return {};
      inner = unquoted(std::string_view{inner}.substr(start));
    }
  }
  return {};
}

}  // namespace

std::vector<ProcessGroup> process_groups(const Node& node) {
  constexpr std::size_t kLongest = 16U << 20U;  // Of a text worth parsing.
  std::vector<ProcessGroup> groups;
  if (!node.inputs || node.inputs->values.find("pg_name") == std::string::npos) return groups;
  if (node.inputs->values.size() > kLongest) return groups;
  const Json list = groups_json(node.inputs->values);
  for (const Json& entry : list) {
    const auto name = entry.find("pg_name");
    const auto ranks = entry.find("ranks");
    if (name == entry.end() || ranks == entry.end() || !ranks->is_array()) continue;
    ProcessGroup group;
    group.name = name->is_string() ? name->get<std::string>() : name->dump();
    for (const Json& rank : *ranks) {
      constexpr std::uint64_t kMostRank = 0x7FFF'FFFF;
      if (!rank.is_number_unsigned() || rank.get<std::uint64_t>() > kMostRank) return {};
      group.ranks.push_back(rank.get<Rank>());
    }
    groups.push_back(std::move(group));
  }
  return groups;
}

workload::Groups read_comm_groups(const std::string& path, Rank ranks) {
  const config::Document document = config::Document::load(path);
  const config::Cursor root{document};
  root.expect_mapping();
  workload::Groups groups;
  for (const config::Entry& entry : root.node().entries) {
    const config::Cursor list = root.at(entry.key);
    std::vector<Rank>& members = groups[entry.key];
    std::set<Rank> seen;
    if (list.size() == 0) list.fail("expected at least one rank");
    for (std::size_t i = 0; i < list.size(); ++i) {
      const config::Cursor item = list.item(i);
      const auto rank = parse_integer(item.scalar("a rank"));
      if (!rank || *rank < 0 || *rank >= ranks) item.fail(fmt::format("expected a rank, 0 to {}", ranks - 1));
      if (!seen.insert(static_cast<Rank>(*rank)).second) item.fail("the rank is in the group twice");
      members.push_back(static_cast<Rank>(*rank));
    }
  }
  return groups;
}

}  // namespace orrery::chakra
