// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/live_device.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <set>
#include <string_view>

#include "orrery/base/text.hpp"
#include "orrery/live/device_images.hpp"

namespace orrery::app {

std::vector<device::CostModel> device_models(const topology::Cluster& cluster, bool has_tables) {
  std::vector<device::CostModel> models(cluster.devices.size());
  for (std::size_t i = 0; i < models.size(); ++i) {
    const bool is_used = std::ranges::find(cluster.device_of_rank, i) != cluster.device_of_rank.end();
    if (is_used) models[i] = live::cost_model_of(cluster.devices[i], has_tables);
  }
  return models;
}

std::vector<std::string> device_notes(const live::Arena& arena, std::uint32_t world) {
  std::uint64_t all = 0;
  std::uint64_t extrapolated = 0;
  std::uint64_t unknown = 0;
  std::set<std::string> names;
  for (std::uint32_t rank = 0; rank < world; ++rank) {
    const live::OperatorCounts& counts = arena.page(rank).operators;
    all += counts.all.load();
    extrapolated += counts.extrapolated.load();
    unknown += counts.unknown.load();
    for (const std::string_view name : split(counts.unknown_names, ' ')) {
      if (!name.empty()) names.emplace(name);
    }
  }
  std::vector<std::string> notes;
  if (extrapolated > 0) {
    notes.push_back(
        fmt::format("{} of {} operators lie beyond what their device's table was profiled for: extrapolated",
                    extrapolated, all));
  }
  if (unknown > 0) {
    notes.push_back(fmt::format("{} of {} operators are costed as bytes in and out, for want of a rule: {}",
                                unknown, all, join({names.begin(), names.end()}, ", ")));
  }
  return notes;
}

}  // namespace orrery::app
