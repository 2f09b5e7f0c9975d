// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/calibrate_shared.hpp"

#include <algorithm>
#include <limits>

#include "orrery/app/statistics.hpp"

namespace orrery::app {

std::vector<double> pooled(const Launches& launches) {
  std::vector<double> all;
  for (const std::vector<double>& times : launches) all.insert(all.end(), times.begin(), times.end());
  return all;
}

double pace_of(const std::vector<Probe>& probes, const std::vector<Launches>& times) {
  constexpr std::int64_t kLong = 256 * 1024;
  double pace = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < probes.size(); ++i) {
    const bool is_plain = probes[i].operation == "message" && probes[i].bytes >= kLong && !probes[i].overlaps;
    const std::vector<double> all = is_plain ? pooled(times[i]) : std::vector<double>{};
    if (!all.empty()) pace = std::min(pace, trimmed_mean(all) / static_cast<double>(probes[i].bytes));
  }
  return pace;
}

bool is_exchange(const Probe& probe) {
  const bool sends_both_ways = probe.operation == "all_gather" || probe.operation == "all_to_all_single";
  return sends_both_ways && probe.late == 0 && !probe.overlaps && !probe.is_alone;
}

double received_bytes(const Probe& probe, std::int64_t ranks) {
  const auto whole = static_cast<double>(probe.bytes * (ranks - 1));
  return probe.operation == "all_gather" ? whole : whole / static_cast<double>(ranks);
}

void leave_shared(double shared, double least, Launches& launches) {
  constexpr double kApart = 1.25;  // Between 1 and the 1.5 of a gathering.
  constexpr double kDominates = 4;
  constexpr std::size_t kFewest = 3;
  if (shared < kDominates * least) return;
  for (std::vector<double>& times : launches) {
    std::erase_if(times, [&](double time) { return time > kApart * (shared + least); });
  }
  if (pooled(launches).size() < kFewest) launches.clear();
}

}  // namespace orrery::app
