// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Device kinds while a file is read: its own `devices`, then the catalogue, each looked up once.
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/topology/catalog.hpp"
#include "orrery/topology/cluster_file_specs.hpp"

namespace orrery::topology {

class DeviceTable {
 public:
  /// `section` is the file's `devices`: name to catalogue name, or name to fields.
  /// A device with a base keeps the base's name, which is what measured tables are filed under.
  DeviceTable(const Section& section, const Catalog& catalog);

  /// Index of the kind called `name` in `kinds`, which grows when it is new. "" is a device that says nothing.
  [[nodiscard]] std::uint32_t index_of(const std::string& name, const config::Cursor& at,
                                       std::vector<DeviceSpec>& kinds);
  [[nodiscard]] DeviceSpec get(const std::string& name, const config::Cursor& at, int depth = 0) const;

 private:
  const Section& section_;
  const Catalog& catalog_;
  std::map<std::string, std::uint32_t> known_;
};

}  // namespace orrery::topology
