// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/calibrate_plan.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <utility>

#include "orrery/app/real_run.hpp"

namespace orrery::app {
namespace {

constexpr std::int64_t kMostCalls = 40;
constexpr std::int64_t kPause = 8;  // Some milliseconds: programs compute between operations.

/// The others of these powers of four are held out, with odd factors, so that no threshold is fitted by chance.
constexpr std::array<std::int64_t, 10> kFitted{1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18,
                                               1 << 20, 1 << 22, 1 << 23, 1 << 24, 1 << 25};
constexpr std::array<std::int64_t, 7> kHeldOut{3 << 9, 3 << 11, 3 << 13, 3 << 15, 3 << 17, 3 << 19, 3 << 22};

/// What is fitted: both sides of the step too, of buffers that have all ranks' bytes, and one beyond, as costs of
/// larger ones lie on the line through the last two. None of these where `most` leaves no room for that.
std::vector<std::int64_t> fitted_sizes(const std::string& operation, std::int64_t ranks, std::int64_t most) {
  constexpr std::int64_t kPage = 4096;
  constexpr std::int64_t kAligned = 64;
  std::vector<std::int64_t> sizes(kFitted.begin(), kFitted.end());
  const std::int64_t parts = point_of({operation, 1}, ranks).size * kAligned;
  const std::int64_t step = (kMappedAnew + parts - 1) / parts * kAligned;
  if (2 * step <= most) sizes.insert(sizes.end(), {step - kPage, step, 2 * step});
  std::ranges::sort(sizes);
  const auto repeated = std::ranges::unique(sizes);
  sizes.erase(repeated.begin(), repeated.end());
  return sizes;
}

/// Bytes per second that probes reckon with.
double rate_of(const CalibrateOptions& options) {
  constexpr double kMemory = 2e9;
  const auto link = parse_link(options.link);
  return link ? static_cast<double>(link->rate.bits_per_second()) / 8 : kMemory;
}

/// Bytes that a point may move in all: 0.26 s of the link, or of 2 GB/s. So 4 MiB are measured at 200 Mbit/s, 16 MiB
/// at 1 Gbit/s: what is beyond is extrapolated.
std::int64_t budget_of(const CalibrateOptions& options) {
  constexpr double kSeconds = 0.26;
  return static_cast<std::int64_t>(rate_of(options) * kSeconds);
}

void add(std::vector<Probe>& probes, const std::string& operation, const CalibrateOptions& options) {
  const std::int64_t budget = budget_of(options);
  const std::int64_t most = budget * 2 / 3;
  const auto add_size = [&](std::int64_t bytes, bool is_held_out) {
    const bool is_needed = operation == "message" && bytes <= kFitted[5];  // For the link's bandwidth.
    if (bytes > most && !is_needed) return;
    probes.push_back({operation, bytes, std::clamp<std::int64_t>(budget / bytes, 5, kMostCalls), kPause, is_held_out});
  };
  for (const std::int64_t bytes : fitted_sizes(operation, options.ranks, most)) add_size(bytes, false);
  for (const std::int64_t bytes : kHeldOut) add_size(bytes, true);
}

/// Broadcasts tell how much a connection takes from a sender at once. The kernel lets that grow, most of all where both
/// directions are busy, and never takes it back: they come after operations that make them so, as in most programs.
std::vector<std::string> operations_of(const CalibrateOptions& options) {
  if (options.what == "network") return {"message", "broadcast"};
  return {"message", "barrier", "all_reduce", "all_gather", "reduce_scatter_tensor", "all_to_all_single", "reduce",
          "gather", "scatter", "broadcast"};
}

}  // namespace

std::vector<Probe> plan_probes(const CalibrateOptions& options) {
  std::vector<Probe> probes;
  if (options.what == "host") {
    constexpr std::int64_t kCalls = 20;
    for (const char* kernel : {"compute:matmul", "compute:decode", "compute:stream", "compute:python"}) {
      probes.push_back({kernel, 0, kCalls});
    }
    return probes;
  }
  for (const std::string& name : operations_of(options)) {
    if (name == "barrier") {
      probes.push_back({name, 0, kMostCalls, kPause});
    } else {
      add(probes, name, options);
    }
  }
  return probes;
}

std::vector<Probe> plan_waking(const CalibrateOptions& options) {
  constexpr std::array<std::int64_t, 6> kPauses{0, 1, 4, kPause, 32, 96};
  constexpr std::int64_t kCalls = 16;
  constexpr std::int64_t kBytes = 4096;
  constexpr std::int64_t kParts = 32;  // Of the budget.
  const std::int64_t large = std::min<std::int64_t>(1 << 20, budget_of(options) / kParts / 4 * 4);
  std::vector<Probe> probes;
  for (const std::string& name : operations_of(options)) {
    for (const std::int64_t pause : kPauses) {
      probes.push_back({name, name == "barrier" ? 0 : kBytes, kCalls, pause, false, true});
    }
    if (name == "barrier") continue;
    for (const std::int64_t pause : kPauses) probes.push_back({name, large, kCalls / 2, pause, false, true});
  }
  return probes;
}

std::vector<Probe> plan_notice(const CalibrateOptions& options) {
  std::vector<Probe> probes;
  if (options.what != "collectives" || options.ranks != 2) return probes;
  constexpr std::array<std::int64_t, 11> kLate{1, 30, 60, 90, 120, 160, 200, 250, 300, 400, 1000};
  // Of the budget: a call takes milliseconds of a link. What they notice by the byte is seen with long ones.
  constexpr std::array<std::int64_t, 3> kParts{60, 10, 3};
  constexpr std::int64_t kMost = kMappedAnew * 3 / 2;
  constexpr std::int64_t kCalls = 8;
  for (const char* name : {"all_to_all_single", "all_gather"}) {
    for (const std::int64_t part : kParts) {
      for (const std::int64_t late : kLate) {
        Probe probe{name, std::min(budget_of(options), kMost) / part, kCalls, kPause};
        if (probe.operation == "all_gather") probe.bytes /= options.ranks;
        probe.late = late;
        probes.push_back(probe);
      }
    }
  }
  for (const char* copy : {kFreshCopy, kReusedCopy}) probes.push_back({copy, std::int64_t{8} << 20, 10});
  return probes;
}

std::vector<Probe> plan_alone(const CalibrateOptions& options) {
  std::vector<Probe> probes;
  if (options.what != "collectives") return probes;
  constexpr std::array<std::int64_t, 4> kSizes{1 << 10, 1 << 16, 1 << 20, 1 << 23};
  constexpr std::int64_t kCalls = 12;
  for (const std::string& name : operations_of(options)) {
    if (name == "message") continue;  // gloo has none to oneself.
    for (const std::int64_t bytes : kSizes) {
      Probe probe{name, name == "barrier" ? 0 : bytes, kCalls, kPause};
      probe.is_alone = true;
      probes.push_back(probe);
      if (name == "barrier") break;
    }
  }
  return probes;
}

std::vector<Probe> plan_overlap(const CalibrateOptions& options) {
  std::vector<Probe> probes;
  if (options.what != "collectives") return probes;
  constexpr std::array<std::int64_t, 4> kSizes{1 << 14, 1 << 18, 1 << 20, 1 << 22};
  constexpr std::int64_t kParts = 16;  // Of the budget.
  constexpr std::int64_t kCalls = 8;
  constexpr double kTimes = 3;  // Of the bytes' time, for the slowest of operations,
  constexpr double kMore = 3e-3;
  constexpr double kUnit = 0.25e-3;  // of computing.
  for (const char* name : {"message", "broadcast", "all_reduce", "all_gather", "reduce_scatter_tensor",
                           "all_to_all_single"}) {
    for (const std::int64_t bytes : kSizes) {
      if (bytes > budget_of(options) / kParts) continue;
      const double time = kMore + kTimes * static_cast<double>(bytes) / rate_of(options);
      Probe probe{name, bytes, kCalls, static_cast<std::int64_t>(time / kUnit)};
      probe.overlaps = true;
      probes.push_back(probe);
    }
  }
  return probes;
}

std::string plan_text(const std::vector<Probe>& probes) {
  nlohmann::json list = nlohmann::json::array();
  for (const Probe& probe : probes) {
    const std::string prefix = probe.overlaps ? "beside:" : probe.is_alone ? "alone:" : "";
    list.push_back({prefix + probe.operation, probe.bytes, probe.count, probe.pause});
    if (probe.late > 0) list.back().push_back(probe.late);
  }
  return list.dump();
}

CalibrationPoint point_of(const Probe& probe, std::int64_t ranks) {
  static const std::map<std::string, std::pair<std::string, bool>> kNames{
      {"message", {"send_recv", false}},
      {"broadcast", {"broadcast", false}},
      {"barrier", {"barrier", false}},
      {"all_reduce", {"all_reduce", false}},
      {"all_gather", {"all_gather", true}},
      {"reduce_scatter_tensor", {"reduce_scatter", false}},
      {"all_to_all_single", {"all_to_all", false}},
      {"reduce", {"reduce", false}},
      {"gather", {"gather", true}},
      {"scatter", {"scatter", true}}};
  const auto& [name, is_per_rank] = kNames.at(probe.operation);
  CalibrationPoint point;
  point.operation = name;
  point.size = probe.bytes * (is_per_rank ? ranks : 1);
  point.is_held_out = probe.is_held_out;
  return point;
}

}  // namespace orrery::app
