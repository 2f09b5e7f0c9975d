// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/catalog.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <filesystem>

#ifndef ORRERY_SOURCE_CATALOG
#define ORRERY_SOURCE_CATALOG ""
#endif

namespace orrery::topology {
namespace {

namespace fs = std::filesystem;
constexpr const char* kExtension = ".yaml";

bool is_catalog(const fs::path& directory) {
  std::error_code ignored;
  return fs::is_directory(directory / "clusters", ignored);
}

/// Names of the files of one folder, sorted: the order of a directory is not ours to rely on.
std::vector<std::string> names_in(const std::string& directory) {
  std::vector<std::string> names;
  std::error_code error;
  for (fs::directory_iterator entry{directory, error}, end; !error && entry != end; entry.increment(error)) {
    if (entry->path().extension() == kExtension) names.push_back(entry->path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

bool is_plain_name(const std::string& name) {
  return !name.empty() && name.find_first_of("/\\") == std::string::npos && name.front() != '.';
}

}  // namespace

std::optional<std::string> find_catalog() {
  if (const char* chosen = std::getenv("ORRERY_CATALOG"); chosen != nullptr && *chosen != '\0') {
    if (is_catalog(chosen)) return chosen;
    throw InputError{{.source = "ORRERY_CATALOG",
                      .position = {},
                      .field = {},
                      .value = chosen,
                      .expected = "expected a folder that holds clusters/ and devices/",
                      .nearest = {}}};
  }
  constexpr int kLevels = 4;
  constexpr std::array kPlaces{"catalog", "share/orrery/catalog"};
  std::error_code error;
  fs::path above = fs::read_symlink("/proc/self/exe", error).parent_path();
  for (int level = 0; !error && level <= kLevels && above.has_relative_path();
       ++level, above = above.parent_path()) {
    for (const char* place : kPlaces) {
      if (is_catalog(above / place)) return (above / place).string();
    }
  }
  if (is_catalog(ORRERY_SOURCE_CATALOG)) return ORRERY_SOURCE_CATALOG;
  return std::nullopt;
}

std::string catalog_directory() {
  if (const std::optional<std::string> found = find_catalog()) return *found;
  throw InputError{
      "no catalogue of clusters and devices was found beside the program; set ORRERY_CATALOG to its folder"};
}

std::string Catalog::folder(const std::string& name) const {
  if (!directory_.empty()) return (fs::path{directory_} / name).string();
  const std::optional<std::string> found = find_catalog();
  return found ? (fs::path{*found} / name).string() : std::string{};
}

std::vector<std::string> Catalog::cluster_names() const { return names_in(folder("clusters")); }
std::vector<std::string> Catalog::device_names() const { return names_in(folder("devices")); }

std::vector<std::string> Catalog::model_names() const { return names_in(folder("models")); }

std::string Catalog::file_path(const std::string& name) const {
  const fs::path path{folder(name)};
  std::error_code ignored;
  return fs::is_regular_file(path, ignored) ? path.string() : std::string{};
}

std::string Catalog::cluster_path(const std::string& name) const {
  return is_plain_name(name) ? file_path("clusters/" + name + kExtension) : std::string{};
}

std::string Catalog::model_path(const std::string& name) const {
  return is_plain_name(name) ? file_path("models/" + name + kExtension) : std::string{};
}

/// `member` is what the points of each curve go by.
template <class Curve, class Member>
void check_ascending(const config::Cursor& at, const char* field, const PerOperation<Curve>& costs, Member member,
                     const char* name) {
  if (!at.has(field)) return;
  PerOperation<Curve>::fields([&](const char* operation, auto curve, const char*) {
    const Curve& points = costs.*curve;
    for (std::size_t i = 1; i < points.size(); ++i) {
      if (points[i].*member > points[i - 1].*member) continue;
      at.at(field).at(operation).item(i).at(name).fail(
          fmt::format("expected a larger {} than that of the point before", name));
    }
  });
}

void read_device(const config::Cursor& at, DeviceFields& fields) {
  read_over(at, fields);
  check_ascending(at, "operation_costs", fields.operation_costs, &CostPoint::size, "size");
  check_ascending(at, "alone_costs", fields.alone_costs, &CostPoint::size, "size");
  check_ascending(at, "overlap_costs", fields.overlap_costs, &CostPoint::size, "size");
  check_ascending(at, "notice_costs", fields.notice_costs, &CostPoint::size, "size");
  check_ascending(at, "wake_costs", fields.wake_costs, &WakePoint::idle, "idle");
  if (!at.has("operators") || fields.operators.empty()) return;
  const fs::path named{fields.operators};
  if (named.is_relative()) fields.operators = (fs::path{at.source()}.parent_path() / named).string();
}

DeviceSpec Catalog::device(const std::string& name, const config::Cursor& at) const {
  const std::vector<std::string> known = device_names();
  if (std::ranges::find(known, name) == known.end()) {
    at.fail(fmt::format("no such device; the catalogue has: {}", join(known, ", ")),
            nearest_name(name, known));
  }
  const config::Document document =
      config::Document::load((fs::path{folder("devices")} / (name + kExtension)).string());
  DeviceFields fields;
  read_device(config::Cursor{document}, fields);
  fields.name = name;
  return static_cast<DeviceSpec&>(fields);  // What it was read with stays behind.
}

}  // namespace orrery::topology
