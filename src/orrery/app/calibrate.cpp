// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/calibrate.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <map>
#include <optional>
#include <utility>

#include "orrery/app/calibrate_fit.hpp"
#include "orrery/app/calibrate_probe.hpp"
#include "orrery/app/live_records.hpp"
#include "orrery/app/output_check.hpp"
#include "orrery/app/real_run.hpp"
#include "orrery/app/statistics.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/base/text.hpp"

namespace orrery::app {
namespace {

double error_over(const std::vector<CalibrationPoint>& points, bool is_held_out) {
  std::vector<double> errors;
  for (const CalibrationPoint& point : points) {
    if (point.is_held_out == is_held_out) {
      errors.push_back(std::abs(point.simulated_ps / point.measured_ps - 1));
    }
  }
  return median(errors);
}

void add_values(const ClusterValues& values, Calibration& result) {
  const auto add = [&](std::string name, double value, std::string text) {
    result.values.push_back({std::move(name), value, std::move(text)});
  };
  if (result.what != "host") {
    add("latency", values.latency, fmt::format("{:.3g} us", values.latency * 1e6));
    add("bandwidth", values.bandwidth * 8, fmt::format("{:.4g} MB/s", values.bandwidth / 1e6));
  }
  topology::OperationCosts::fields([&](const char* operation, auto member, const char*) {
    const topology::CostCurve& curve = values.notices.*member;
    if (curve.empty()) return;
    const auto at = [&](Bytes size) { return static_cast<double>(count_ps(topology::cost_at(curve, size))) / 1e12; };
    const double base = at({});
    add(fmt::format("notice of {}", operation), base,
        fmt::format("{:.3g} us and {:.3g} us per MiB", base * 1e6, (at(Bytes{1 << 20}) - base) * 1e6));
  });
  if (values.burst > 0) {
    const auto bytes = static_cast<double>(values.burst);
    add("burst", bytes, fmt::format("{:.3g} kB", bytes / 1e3));
  }
  if (values.send_buffer > 0) {
    const auto bytes = static_cast<double>(values.send_buffer);
    add("send_buffer", bytes, fmt::format("{:.3g} MB", bytes / 1e6));
  }
  add("compute_scale", values.compute_scale, fmt::format("{:.3f}", values.compute_scale));
}

std::string comments_of(const Calibration& result, const CalibrateOptions& options) {
  std::string text = fmt::format(
      "# Written by orrery calibrate {}{}: {} ranks over gloo, the median of {} launches' means.\n",
      options.what, options.link.empty() ? "" : " --link " + options.link, options.ranks,
      options.what == "host" ? static_cast<std::size_t>(options.repeat) : result.launches);
  if (!result.points.empty()) {
    text += fmt::format(
        "# Median error: {:.1f} % over {} fitted points, {:.1f} % over {} points of other sizes.\n",
        result.fitted_error * 100, std::ranges::count(result.points, false, &CalibrationPoint::is_held_out),
        result.held_out_error * 100, std::ranges::count(result.points, true, &CalibrationPoint::is_held_out));
    text += fmt::format("# Launches differ by +-{:.1f} % in the median of points.\n", spread_over(result.points) * 100);
    text += "# operation, bytes of the whole buffer, measured, spread over launches, simulated, error:\n";
  }
  for (const CalibrationPoint& point : result.points) {
    text += fmt::format("#   {:<14} {:>9} {:>12.1f} us +-{:>4.1f} % {:>12.1f} us {:>+6.1f} %{}\n",
                        point.operation, point.size, point.measured_ps / 1e6, point.spread * 100,
                        point.simulated_ps / 1e6, (point.simulated_ps / point.measured_ps - 1) * 100,
                        point.is_held_out ? "  held out" : "");
  }
  if (!result.waking.empty()) text += "# After a pause: operation, bytes, pause, measured:\n";
  for (const WakingPoint& point : result.waking) {
    text += fmt::format("#   {:<14} {:>9} {:>9.0f} us {:>9.1f} us\n", point.operation, point.size, point.idle_ps / 1e6,
                        point.measured_ps / 1e6);
  }
  if (!result.alone.empty()) text += "# In a group of one rank: operation, bytes, time:\n";
  for (const SizedTime& point : result.alone) {
    text += fmt::format("#   {:<14} {:>9} {:>9.1f} us\n", point.operation, point.size, point.time_ps / 1e6);
  }
  if (!result.overlap.empty()) text += "# How much longer a rank computes beside it: operation, bytes, time:\n";
  for (const SizedTime& point : result.overlap) {
    text += fmt::format("#   {:<14} {:>9} {:>9.1f} us\n", point.operation, point.size, point.time_ps / 1e6);
  }
  for (const auto& [kernel, factor] : result.slowdown) {
    text += fmt::format("# {}: real ranks take {:.3f} times as long as one measured alone\n", kernel, factor);
  }
  return text;
}

/// How much longer computing takes when everybody computes: real ranks do, simulated ones are measured one by one.
double measure_slowdown(const CalibrateOptions& options, Calibration& result) {
  CalibrateOptions host = options;
  host.what = "host";
  host.link.clear();
  const std::vector<Probe> probes = plan_probes(host);
  host.ranks = 1;
  const std::vector<ProbeTimes> alone = run_probes(host, probes, result.notes);
  host.ranks = options.ranks;
  const std::vector<ProbeTimes> together = run_probes(host, probes, result.notes);
  std::vector<double> factors;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    const double factor = median(together[i].gaps) / median(alone[i].gaps);
    result.slowdown.emplace_back(probes[i].operation, factor);
    factors.push_back(factor);
  }
  return std::max(1.0, median(factors));
}

void write_file(const std::string& path, const std::string& text) {
  OutputFile file{path};
  file.write(text);
  file.commit();
}

void check(const CalibrateOptions& options) {
  if (options.what != "network" && options.what != "collectives" && options.what != "host") {
    throw InputError{{.source = "calibrate",
                      .position = {},
                      .field = {},
                      .value = options.what,
                      .expected = "expected network, collectives or host",
                      .nearest = nearest_name(options.what, {"network", "collectives", "host"})}};
  }
  if (options.ranks < 2) {
    throw InputError{fmt::format("{}ranks: '{}': expected 2 or more", options.option_prefix, options.ranks)};
  }
  constexpr std::int64_t kSlowest = 10'000'000;
  const auto link = parse_link(options.link);
  if (link && options.what != "host" && link->rate.bits_per_second() < kSlowest) {
    throw InputError{fmt::format("{}link: '{}': expected 10Mbps or more: a slower one would take hours to measure",
                                 options.option_prefix, options.link)};
  }
  const int ways = static_cast<int>(!options.plan.empty()) + static_cast<int>(!options.keep.empty()) +
                   static_cast<int>(!options.from.empty());
  if (ways > 1) throw InputError{fmt::format("expected one of {0}plan, {0}keep and {0}from", options.option_prefix)};
  if (ways == 1 && options.what == "host") {
    throw InputError{fmt::format("calibrate: 'host': computing is measured and used at once; expected network or "
                                 "collectives with {0}plan, {0}keep and {0}from",
                                 options.option_prefix)};
  }
  check_output_folder(options.keep);
  for (const std::string& path : {options.output, options.picture, options.plan}) check_output(path);
}

/// What was measured beside the points.
struct Beside {
  std::map<std::string, std::vector<LateCall>> late;  // By operation.
  std::map<std::int64_t, double> buffered;            // Shares of broadcasts, by size.
  double fresh = 0;  // First touches, in picoseconds per byte.
};

/// Puts the times of the probes where they belong.
Beside sort_times(const std::vector<Probe>& probes, const std::vector<ProbeTimes>& times, Calibration& result) {
  Beside beside;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (probes[i].operation == kFreshCopy || probes[i].operation == kReusedCopy) {
      const double per_byte = median(times[i].gaps) / static_cast<double>(probes[i].bytes);
      beside.fresh += probes[i].operation == kFreshCopy ? per_byte : -per_byte;
      continue;
    }
    CalibrationPoint point = point_of(probes[i], probes[i].is_alone ? 1 : result.ranks);
    if (probes[i].late > 0) {
      std::ranges::copy(times[i].late, std::back_inserter(beside.late[point.operation]));
      continue;
    }
    if (probes[i].overlaps) {
      if (times[i].stolen.empty()) continue;
      result.overlap.push_back({point.operation, point.size, std::max(0.0, median(times[i].stolen))});
      continue;
    }
    if (times[i].means.empty()) continue;  // No call of it that says something.
    result.launches = std::max(result.launches, times[i].means.size());
    const auto [least, most] = std::ranges::minmax(times[i].means);
    point.measured_ps = times[i].mean;
    point.idle_ps = median(times[i].idles);
    if (probes[i].is_alone) {
      result.alone.push_back({point.operation, point.size, point.measured_ps});
      continue;
    }
    if (probes[i].is_of_waking) {
      result.waking.push_back({point.operation, point.size, point.idle_ps, point.measured_ps});
      continue;
    }
    point.spread = (most - least) / 2 / point.measured_ps;
    if (point.operation == "broadcast") beside.buffered[point.size] = times[i].buffered;
    result.points.push_back(point);
  }
  return beside;
}

}  // namespace

Calibration calibrate(const CalibrateOptions& options) {
  check(options);
  Calibration result;
  result.what = options.what;
  result.ranks = options.ranks;
  result.name = options.link.empty() ? "loopback" : "link-" + std::string{split(options.link, ',')[0]};
  ClusterValues values;
  if (options.what == "host") {
    values.compute_scale = measure_slowdown(options, result);
  } else {
    std::vector<Probe> probes = plan_probes(options);
    std::ranges::copy(plan_waking(options), std::back_inserter(probes));
    std::ranges::copy(plan_notice(options), std::back_inserter(probes));
    std::ranges::copy(plan_alone(options), std::back_inserter(probes));
    std::ranges::copy(plan_overlap(options), std::back_inserter(probes));
    if (!options.plan.empty()) {
      write_file(options.plan, plan_text(probes) + "\n");
      return result;
    }
    const char* how = options.from.empty() ? "measuring" : "reading";
    if (options.say) options.say(fmt::format("{} {} operations, sizes and pauses", how, probes.size()));
    const std::vector<ProbeTimes> times = run_probes(options, probes, result.notes);
    if (!options.keep.empty()) return result;
    const Beside beside = sort_times(probes, times, result);
    if (options.say) options.say("fitting");
    const auto link = parse_link(options.link);
    values = fit_values(options.ranks, result.points, result.waking, options.wants_stop,
                        link ? link->burst.count() : 0);
    values.alone = rising_curves(result.alone);
    values.overlaps = rising_curves(result.overlap);
    // The root of a tree is done early without any buffer.
    if (options.ranks == 2) values.send_buffer = send_buffer_of(beside.buffered);
    for (const auto& [operation, calls] : beside.late) {
      const std::optional<Notice> notice = find_notice(calls);
      if (!notice) continue;
      const double fresh = beside.fresh / static_cast<double>(options.ranks);  // Of a rank's own part.
      *topology::find_curve(values.notices, operation) = notice_curve(*notice, values.latency, fresh);
    }
    if (options.what == "collectives" && !options.is_elsewhere) {
      if (options.say) options.say("computing, really and simulated");
      values.compute_scale = compute_scale(options, values, result);
    }
    if (std::string note = disagreement(result.points); !note.empty()) result.notes.push_back(std::move(note));
    result.fitted_error = error_over(result.points, false);
    result.held_out_error = error_over(result.points, true);
  }
  add_values(values, result);
  result.file = comments_of(result, options) + cluster_text(values, result.name, options.ranks);
  for (const auto& [path, text] :
       {std::pair{options.output, result.file}, std::pair{options.picture, to_svg(result)}}) {
    if (!path.empty()) write_file(path, text);
  }
  return result;
}

}  // namespace orrery::app
