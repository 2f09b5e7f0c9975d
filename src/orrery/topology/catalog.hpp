// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The catalogue: clusters and devices described as data files that ship with Orrery.
#include <optional>
#include <string>
#include <vector>

#include "orrery/topology/catalog_device.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::topology {

/// Where the catalogue is: $ORRERY_CATALOG; else beside the running program (catalog or share/orrery/catalog,
/// up to four folders up); else the source tree it was built from. InputError when $ORRERY_CATALOG is wrong.
[[nodiscard]] std::optional<std::string> find_catalog();
/// find_catalog(); InputError when there is none.
[[nodiscard]] std::string catalog_directory();

class Catalog {
 public:
  /// An empty `directory` means catalog_directory(), looked for when first needed.
  explicit Catalog(std::string directory = {}) : directory_{std::move(directory)} {}

  /// Sorted names of catalog/clusters/*.yaml and catalog/devices/*.yaml; empty without a catalogue.
  [[nodiscard]] std::vector<std::string> cluster_names() const;
  [[nodiscard]] std::vector<std::string> device_names() const;
  /// Likewise of catalog/models/*.yaml.
  [[nodiscard]] std::vector<std::string> model_names() const;
  /// Path of a preset's file, or "" when there is none of that name.
  [[nodiscard]] std::string cluster_path(const std::string& name) const;
  [[nodiscard]] std::string model_path(const std::string& name) const;
  /// Path of any other file of the catalogue, or "" when there is none.
  [[nodiscard]] std::string file_path(const std::string& name) const;
  /// What catalog/devices/NAME.yaml says; the error at `at` lists the nearest name.
  [[nodiscard]] DeviceSpec device(const std::string& name, const config::Cursor& at) const;

 private:
  [[nodiscard]] std::string folder(const std::string& name) const;  // "" without a catalogue.
  std::string directory_;
};

}  // namespace orrery::topology
