// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/calibrate_fit.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>
#include <utility>

#include "orrery/app/collective.hpp"
#include "orrery/app/scratch_folder.hpp"
#include "orrery/app/statistics.hpp"
#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"

namespace orrery::app {
namespace {

constexpr double kSecond = 1e12;  // In picoseconds.

std::int64_t picoseconds(double seconds) {
  return std::max<std::int64_t>(0, std::llround(seconds * kSecond));
}

/// Messages from here on are long; a token bucket of this depth may have taken half of them, no more.
std::int64_t long_from(std::int64_t depth) { return std::max<std::int64_t>(256 * 1024, 2 * depth); }

/// The line through long messages reaches size 0 below zero: only a token bucket does that. How far it lies below short
/// messages is what the bucket holds, without the headers that it takes as well.
std::int64_t find_burst(const std::vector<const CalibrationPoint*>& messages, double slope, std::int64_t depth) {
  constexpr std::int64_t kWithin = 4 * 1024;
  constexpr double kLeast = 0.25;  // Of a short message: less is noise.
  double shortest = 1;
  double at_zero = 1;
  for (const CalibrationPoint* message : messages) {
    const double time = message->measured_ps / kSecond;
    if (message->size <= kWithin) shortest = std::min(shortest, time);
    if (message->size < long_from(depth) || message->size > 4 * long_from(depth)) continue;
    at_zero = std::min(at_zero, time - slope * static_cast<double>(message->size));
  }
  return at_zero < -kLeast * shortest ? std::llround((shortest - at_zero) / slope) : 0;
}

/// Slopes between long messages: short ones say more of threads and buckets than of the link. The least of them, as
/// costs can make an operation longer than its simulation and never shorter: memory is quicker for what a cache holds.
ClusterValues fit_link(const std::vector<CalibrationPoint>& points, const std::vector<WakingPoint>& waking,
                       std::int64_t depth) {
  std::vector<const CalibrationPoint*> messages;
  for (const CalibrationPoint& point : points) {
    if (point.operation == "send_recv" && !point.is_held_out) messages.push_back(&point);
  }
  std::vector<double> slopes;  // Seconds per byte.
  for (const CalibrationPoint* a : messages) {
    for (const CalibrationPoint* b : messages) {
      if (a->size < long_from(depth) || 4 * a->size > b->size || a->measured_ps >= b->measured_ps) continue;
      slopes.push_back((b->measured_ps - a->measured_ps) / kSecond / static_cast<double>(b->size - a->size));
    }
  }
  if (slopes.empty()) {
    throw InputError{"longer messages took no more time than shorter ones: this host is too busy to be measured"};
  }
  const double slope = std::ranges::min(slopes);
  ClusterValues values;
  values.bandwidth = 1 / slope;
  if (depth > 0) values.burst = find_burst(messages, slope, depth);
  double latency = messages.front()->measured_ps / kSecond;
  const auto look_at = [&](std::int64_t size, double measured_ps) {
    const auto carried = static_cast<double>(std::max<std::int64_t>(0, size - values.burst));
    latency = std::min(latency, measured_ps / kSecond - slope * carried);
  };
  for (const CalibrationPoint* message : messages) look_at(message->size, message->measured_ps);
  for (const WakingPoint& message : waking) {
    if (message.operation == "send_recv") look_at(message.size, message.measured_ps);
  }
  values.latency = std::max(0.0, latency);
  return values;
}

std::string curves_text(const char* name, const topology::OperationCosts& costs) {
  if (costs == topology::OperationCosts{}) return {};
  std::string text = fmt::format("    {}:\n", name);
  topology::OperationCosts::fields([&](const char* operation, auto member, const char*) {
    if ((costs.*member).empty()) return;
    text += fmt::format("      {}:\n", operation);
    for (const topology::CostPoint& point : costs.*member) {
      text += fmt::format("        - {{size: {}B, time: {}ns}}\n", point.size.count(), count_ps(point.time) / 1000);
    }
  });
  return text;
}

}  // namespace

std::string cluster_text(const ClusterValues& values, const std::string& name, std::int64_t ranks) {
  const auto nanoseconds = [](double seconds) { return fmt::format("{}ns", picoseconds(seconds) / 1000); };
  const std::string link =
      fmt::format("{{bandwidth: {}kBps, latency: {}{}}}", std::llround(values.bandwidth / 1e3),
                  nanoseconds(ranks == 2 ? values.latency : values.latency / 2),
                  values.burst > 0 ? fmt::format(", burst: {}B", values.burst) : "");
  std::string text = fmt::format("name: {}\ndevices:\n  host:\n", name);
  text += fmt::format("    compute_scale: {:.4f}\n", values.compute_scale);
  if (values.send_buffer > 0) text += fmt::format("    send_buffer: {}B\n", values.send_buffer);
  text += curves_text("operation_costs", values.costs);
  text += curves_text("alone_costs", values.alone);
  text += curves_text("notice_costs", values.notices);
  text += curves_text("overlap_costs", values.overlaps);
  if (values.wakes != topology::WakeCosts{}) text += "    wake_costs:\n";
  topology::WakeCosts::fields([&](const char* operation, auto member, const char*) {
    if ((values.wakes.*member).empty()) return;
    text += fmt::format("      {}:\n", operation);
    for (const topology::WakePoint& point : values.wakes.*member) {
      text += fmt::format("        - {{idle: {}ns, time: {}ns, per_mib: {}ns}}\n", count_ps(point.idle) / 1000,
                          count_ps(point.time) / 1000, count_ps(point.per_mib) / 1000);
    }
  });
  text += fmt::format("nodes:\n  process: {{count: {}, device: host}}\n", ranks);
  if (ranks == 2) return text + fmt::format("links:\n  process[0] - process[1]: {}\n", link);
  return text + fmt::format("  bridge: {{kind: switch}}\nlinks:\n  process[*] - bridge: {}\n", link);
}

std::string write_candidate(const ClusterValues& values, std::int64_t ranks, const std::string& folder) {
  std::string path = folder + "/candidate.yaml";
  OutputFile file{path};
  file.write(cluster_text(values, "candidate", ranks));
  file.commit();
  return path;
}

namespace {

/// By how much a point's pause makes it longer.
double waking_ps(const ClusterValues& values, const CalibrationPoint& point) {
  const topology::WakeCurve* curve = topology::find_curve(values.wakes, point.operation);
  ORRERY_CHECK(curve != nullptr, "no curve for {}", point.operation);
  const Duration idle{std::llround(point.idle_ps)};
  return static_cast<double>(count_ps(topology::wake_at(*curve, idle, Bytes{point.size})));
}

/// Simulates all points with these values and fills in `simulated_ps`.
void simulate_points(const ClusterValues& values, std::int64_t ranks, std::vector<CalibrationPoint>& points,
                     const std::function<bool()>& wants_stop) {
  const ScratchFolder scratch{"calibrate"};
  const std::string cluster = write_candidate(values, ranks, scratch.path());
  std::map<std::string, std::set<std::int64_t>> sizes;
  for (const CalibrationPoint& point : points) sizes[point.operation].insert(point.size);
  std::map<std::pair<std::string, std::int64_t>, double> times;
  for (const auto& [operation, wanted] : sizes) {
    CollectiveOptions options;
    options.operation = operation;
    options.cluster = cluster;
    if (operation != "barrier") options.size.clear();
    for (const std::int64_t size : wanted) {
      if (operation != "barrier") options.size += fmt::format("{}{}B", options.size.empty() ? "" : ",", size);
    }
    options.algorithm = "gloo";
    options.wants_stop = wants_stop;
    const CollectiveResult result = collective(options);
    for (const CollectiveRow& row : result.rows) {
      times[{operation, row.size_bytes}] = static_cast<double>(row.time_ps);
    }
  }
  for (CalibrationPoint& point : points) {
    const auto found = times.find({point.operation, point.size});
    if (found == times.end()) {
      throw InputError{fmt::format("{} of {} bytes was not simulated", point.operation, point.size)};
    }
    point.simulated_ps = found->second + waking_ps(values, point);
  }
}

constexpr std::int64_t kShort = 16 * 1024;
constexpr double kMebibyte = 1 << 20;

/// Probes of pauses and probes of sizes measure the same at one place, an operation after the usual pause. The latter
/// are more; where they leave less room for waking than the former say, the curve shrinks to fit: its times by short
/// operations, and what it has per byte by those that caches hold.
void shrink_waking(topology::WakeCosts& wakes, const std::vector<CalibrationPoint>& points) {
  topology::WakeCosts::fields([&](const char* operation, auto member, const char*) {
    topology::WakeCurve& curve = wakes.*member;
    for (const bool is_short : {true, false}) {
      std::vector<double> shares;
      for (const CalibrationPoint& point : points) {
        const bool is_in_cache = point.size > 8 * kShort && Bytes{point.size} <= topology::kColdest;
        if (point.operation != operation || point.is_held_out) continue;
        if (is_short ? point.size > kShort : !is_in_cache) continue;
        const Duration idle{std::llround(point.idle_ps)};
        const auto handing = static_cast<double>(count_ps(topology::wake_at(curve, idle)));
        const auto all = static_cast<double>(count_ps(topology::wake_at(curve, idle, Bytes{point.size})));
        const double room = point.measured_ps - point.simulated_ps - (is_short ? 0 : handing);
        const double wanted = is_short ? handing : all - handing;
        if (wanted > 0) shares.push_back(std::clamp(room / wanted, 0.0, 1.0));
      }
      const double share = shares.empty() ? 1 : median(shares);
      for (topology::WakePoint& point : curve) {
        Duration& time = is_short ? point.time : point.per_mib;
        time = Duration{std::llround(static_cast<double>(count_ps(time)) * share)};
      }
    }
  });
}

/// By how much an operation takes longer than without a pause. Where the link passes short messages quicker than its
/// rate, the simulation without a pause is too long already: only what is beyond it counts. Calls without a pause find
/// a token bucket emptier than those after one: of large operations over a limited link less waking is seen than there
/// is.
topology::WakeCosts fit_waking(const ClusterValues& values, std::int64_t ranks,
                               const std::vector<WakingPoint>& waking, const std::function<bool()>& wants_stop) {
  std::vector<CalibrationPoint> plain;
  for (const WakingPoint& point : waking) plain.push_back({.operation = point.operation, .size = point.size});
  simulate_points(values, ranks, plain, wants_stop);
  topology::WakeCosts wakes;
  std::map<std::pair<std::string, std::int64_t>, double> least;
  for (std::size_t i = 0; i < waking.size(); ++i) {  // Short ones first, by ascending pauses.
    const WakingPoint& point = waking[i];
    const double shortest = std::max(point.measured_ps, plain[i].simulated_ps);
    const double base = least.try_emplace({point.operation, point.size}, shortest).first->second;
    topology::WakeCurve& curve = *topology::find_curve(wakes, point.operation);
    const Duration more{std::llround(std::max(0.0, point.measured_ps - base))};
    const Duration idle{std::llround(point.idle_ps)};
    if (point.size <= kShort) {
      if (!curve.empty() && idle <= curve.back().idle) continue;
      curve.push_back({idle, curve.empty() ? more : std::max(more, curve.back().time)});
      continue;
    }
    // To the point of the same pause: the pauses of both are the same computing.
    const auto distance = [&](const topology::WakePoint& other) {
      const auto theirs = static_cast<double>(1 + count_ps(other.idle));
      return std::abs(std::log(theirs / static_cast<double>(1 + count_ps(idle))));
    };
    const auto nearest = std::ranges::min_element(curve, {}, distance);
    if (nearest == curve.end()) continue;
    const double rest =
        static_cast<double>(count_ps(more - nearest->time)) * kMebibyte / static_cast<double>(point.size);
    nearest->per_mib = Duration{std::llround(std::max(0.0, rest))};
  }
  topology::WakeCosts::fields([&](const char*, auto member, const char*) {
    Duration most{};
    for (topology::WakePoint& point : wakes.*member) most = point.per_mib = std::max(most, point.per_mib);
  });
  return wakes;
}

}  // namespace

topology::OperationCosts rising_curves(std::vector<SizedTime> points) {
  std::ranges::sort(points, {}, &SizedTime::size);
  topology::OperationCosts curves;
  for (const SizedTime& point : points) {
    topology::CostCurve* curve = topology::find_curve(curves, point.operation);
    ORRERY_CHECK(curve != nullptr, "no curve for {}", point.operation);
    const Duration time{std::llround(point.time_ps)};
    curve->push_back({Bytes{point.size}, curve->empty() ? time : std::max(time, curve->back().time)});
  }
  return curves;
}

std::int64_t send_buffer_of(const std::map<std::int64_t, double>& left) {
  constexpr std::int64_t kLong = 128 * 1024;  // Shorter ones take as long as threads do.
  constexpr double kLeast = 0.15;
  double most = 0;
  for (const auto& [size, share] : left) {
    if (size >= kLong && share > kLeast) most = std::max(most, share * static_cast<double>(size));
  }
  return std::llround(most);
}

double spread_over(const std::vector<CalibrationPoint>& points) {
  std::vector<double> spreads;
  spreads.reserve(points.size());
  for (const CalibrationPoint& point : points) spreads.push_back(point.spread);
  return spreads.empty() ? 0 : median(spreads);
}

std::string disagreement(const std::vector<CalibrationPoint>& points) {
  // An idle host: 13 % over loopback, 2 % at 1 Gbit/s.
  constexpr double kMost = 0.2;
  const double spread = spread_over(points);
  if (spread <= kMost) return {};
  return fmt::format("launches differ by +-{:.0f} % in the median of sizes: the host was busy, or its speed changed; "
                     "measure again when it does nothing else",
                     spread * 100);
}

ClusterValues fit_values(std::int64_t ranks, std::vector<CalibrationPoint>& points,
                         const std::vector<WakingPoint>& waking, const std::function<bool()>& wants_stop,
                         std::int64_t depth) {
  ClusterValues values = fit_link(points, waking, depth);
  simulate_points(values, ranks, points, wants_stop);
  topology::WakeCosts wakes = fit_waking(values, ranks, waking, wants_stop);
  shrink_waking(wakes, points);
  values.wakes = std::move(wakes);
  simulate_points(values, ranks, points, wants_stop);
  std::vector<const CalibrationPoint*> fitted;
  for (const CalibrationPoint& point : points) {
    if (!point.is_held_out) fitted.push_back(&point);
  }
  std::ranges::sort(fitted, {}, &CalibrationPoint::size);
  for (const CalibrationPoint* point : fitted) {
    const auto above = static_cast<std::int64_t>(std::max(0.0, point->measured_ps - point->simulated_ps));
    topology::CostCurve* curve = topology::find_curve(values.costs, point->operation);
    ORRERY_CHECK(curve != nullptr, "no curve for {}", point->operation);
    curve->push_back({Bytes{point->size}, Duration{above}});
  }
  simulate_points(values, ranks, points, wants_stop);
  return values;
}

}  // namespace orrery::app
