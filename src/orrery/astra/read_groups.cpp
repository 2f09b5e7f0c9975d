// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "orrery/astra/fields.hpp"
#include "orrery/astra/settings.hpp"
#include "orrery/base/text.hpp"

namespace orrery::astra {

GroupLists read_groups(const std::string& path, std::uint32_t npus) {
  const config::Document document = config::Document::load(path);
  const config::Cursor root{document};
  root.expect_mapping();
  GroupLists groups;
  for (const config::Entry& entry : root.node().entries) {
    const auto id = parse_integer(entry.key);
    if (!id || *id < 1 || *id > 2146) {
      throw InputError{
          {.source = path,
           .position = entry.position,
           .field = {},
           .value = entry.key,
           .expected = "expected a group id from 1 to 2146 (0 is ASTRA-sim's name for all ranks)",
           .nearest = {}}};
    }
    const config::Cursor list = root.at(entry.key);
    std::vector<std::uint32_t>& members = groups[*id];
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto rank = static_cast<std::uint32_t>(read_whole(list.item(i), 0, npus - 1.0));
      if (std::ranges::find(members, rank) != members.end()) {
        list.item(i).fail("this rank is in the group already");
      }
      members.push_back(rank);
    }
    if (members.empty()) list.fail("expected at least one rank");
  }
  return groups;
}

}  // namespace orrery::astra
