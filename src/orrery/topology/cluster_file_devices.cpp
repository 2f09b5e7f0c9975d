// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/cluster_file_devices.hpp"

#include <algorithm>

namespace orrery::topology {

DeviceTable::DeviceTable(const Section& section, const Catalog& catalog)
    : section_{section}, catalog_{catalog} {
  if (section_) section_->expect_mapping();
}

DeviceSpec DeviceTable::get(const std::string& name, const config::Cursor& at, int depth) const {
  constexpr int kMaxDepth = 16;
  if (depth > kMaxDepth) at.fail("devices are based on each other in a circle");
  if (!section_ || !section_->has(name)) {
    std::vector<std::string> names = catalog_.device_names();
    if (!section_ || std::ranges::find(names, name) != names.end()) return catalog_.device(name, at);
    for (const config::Entry& entry : section_->node().entries) names.push_back(entry.key);
    at.fail("no such device in `devices` or in the catalogue", nearest_name(name, names));
  }
  const config::Cursor entry = section_->at(name);
  // A device based on its own name is the catalogue's under that name; any other base may be of this file too.
  const auto based_on = [&](const config::Cursor& base) {
    const std::string& text = base.scalar("the name of a device, or its fields");
    return text == name ? catalog_.device(text, base) : get(text, base, depth + 1);
  };
  if (entry.node().kind != config::Kind::kMapping) return based_on(entry);
  DeviceFields fields;
  fields.name = name;
  if (entry.has("base")) static_cast<DeviceSpec&>(fields) = based_on(entry.at("base"));
  read_device(entry, fields);
  return static_cast<DeviceSpec&>(fields);  // What it was read with stays behind.
}

std::uint32_t DeviceTable::index_of(const std::string& name, const config::Cursor& at,
                                    std::vector<DeviceSpec>& kinds) {
  const auto [found, is_new] = known_.emplace(name, static_cast<std::uint32_t>(kinds.size()));
  if (is_new) kinds.push_back(name.empty() ? DeviceSpec{} : get(name, at));
  return found->second;
}

}  // namespace orrery::topology
