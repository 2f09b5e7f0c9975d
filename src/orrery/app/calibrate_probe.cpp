// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/calibrate_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>

#include "orrery/app/calibrate_notice.hpp"
#include "orrery/app/real_run.hpp"
#include "orrery/app/statistics.hpp"
#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"

namespace orrery::app {
namespace {

constexpr std::int64_t kMostCalls = 40;
constexpr std::int64_t kPause = 8;  // Some milliseconds: programs compute between operations.
constexpr std::int64_t kWarm = 2;  // Calls of each probe before those that count.

/// The others of these powers of four are held out, with odd factors, so that no threshold is fitted by chance.
constexpr std::array<std::int64_t, 10> kFitted{1 << 10, 1 << 12, 1 << 14, 1 << 16, 1 << 18,
                                               1 << 20, 1 << 22, 1 << 23, 1 << 24, 1 << 25};
constexpr std::array<std::int64_t, 7> kHeldOut{3 << 9, 3 << 11, 3 << 13, 3 << 15, 3 << 17, 3 << 19, 3 << 22};

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

void add(std::vector<Probe>& probes, const std::string& operation, std::int64_t budget, std::int64_t least) {
  const auto add_size = [&](std::int64_t bytes, bool is_held_out) {
    const bool is_needed = operation == "message" && bytes <= kFitted[5];  // For the link's bandwidth.
    if ((bytes * 3 > budget * 2 && !is_needed) || bytes < least) return;
    probes.push_back({operation, bytes, std::clamp<std::int64_t>(budget / bytes, 5, kMostCalls), kPause, is_held_out});
  };
  for (const std::int64_t bytes : kFitted) add_size(bytes, false);
  for (const std::int64_t bytes : kHeldOut) add_size(bytes, true);
}

std::vector<std::string> operations_of(const CalibrateOptions& options) {
  if (options.what == "network") return {"message", "broadcast"};
  return {"message", "broadcast", "barrier", "all_reduce", "all_gather", "reduce_scatter_tensor",
          "all_to_all_single", "reduce", "gather", "scatter"};
}

/// One call of all ranks, in picoseconds.
struct Call {
  double first_posted = 0;
  double last_posted = 0;
  double done = 0;
  double root_done = 0;
};

/// How long calls took from when the last rank came. Of exchanges that some rank comes late to, the directions follow
/// each other, which the simulation knows: only calls that all came to together are to be fitted, or else the nearest.
std::vector<double> times_together(std::vector<Call> calls) {
  constexpr double kTogether = 5e7;  // Half of what gloo's ranks notice.
  constexpr std::size_t kLeast = 3;
  const auto skew = [](const Call& call) { return call.last_posted - call.first_posted; };
  std::ranges::sort(calls, {}, skew);
  std::vector<double> times;
  for (const Call& call : calls) {
    if (times.size() >= kLeast && skew(call) > kTogether) break;
    times.push_back(call.done - call.last_posted);
  }
  return times;
}

void append_late(const std::vector<Call>& calls, std::int64_t size, std::vector<LateCall>& late) {
  constexpr double kMost = 1.5e9;  // Who missed the moment is later than any probe wants.
  for (const Call& call : calls) {
    const double delay = call.last_posted - call.first_posted;
    if (delay < kMost) late.push_back({.size = size, .delay = delay, .time = call.done - call.last_posted});
  }
}

/// The share of the calls' time that was left when rank 0 had done.
double left_over(const std::vector<Call>& calls) {
  std::vector<double> shares;
  for (const Call& call : calls) {
    if (call.done <= call.last_posted) continue;
    shares.push_back((call.done - std::max(call.root_done, call.last_posted)) / (call.done - call.last_posted));
  }
  return shares.empty() ? 0 : median(shares);
}

/// Whether ranks send to each other before they ask, see collectives::Asking.
bool is_exchange(const Probe& probe) {
  return probe.operation == "all_gather" || probe.operation == "all_to_all_single";
}

using Launches = std::vector<std::vector<double>>;

std::vector<double> pooled(const Launches& launches) {
  std::vector<double> all;
  for (const std::vector<double>& times : launches) all.insert(all.end(), times.begin(), times.end());
  return all;
}

/// What the link takes for a byte, from long messages.
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

/// Directions that follow each other although the ranks came together: threads woke late, or copied for longer. All
/// to all takes twice as long then, and gathering, which gloo does in halves, one and a half times. The simulation
/// knows that of ranks that come apart; what is fitted must not have it in it. Leaves the calls whose directions shared
/// the link, none of them where hardly a call's did. `least`: what the operation takes without any data to speak of.
void leave_shared(const Probe& probe, std::int64_t ranks, double pace, double least, Launches& launches) {
  constexpr double kApart = 1.25;
  constexpr double kDominates = 4;  // Of what it takes anyway: else modes are noise.
  constexpr std::size_t kFewest = 3;
  const double parts = probe.operation == "all_gather" ? 1 : 1 / static_cast<double>(ranks);
  const double shared = pace * parts * static_cast<double>(probe.bytes * (ranks - 1));
  if (shared < kDominates * least) return;
  for (std::vector<double>& times : launches) {
    std::erase_if(times, [&](double time) { return time > kApart * (shared + least); });
  }
  if (pooled(launches).size() < kFewest) launches.clear();
}

/// How many operations of the rank come before a probe: the first barrier, and those of the probes before.
std::size_t operations_before(std::size_t probe, const std::vector<Probe>& probes, std::size_t rank) {
  std::size_t at = 1;
  for (std::size_t i = 0; i < probe; ++i) {
    const bool is_compute = probes[i].operation.starts_with("compute");
    const bool looks_on = rank > 1 && probes[i].operation == "message";
    const std::int64_t calls = probes[i].count * (probes[i].overlaps ? 4 : 1);  // A barrier after each, and in turn.
    const std::int64_t barriers = probes[i].overlaps ? 2 * probes[i].count : 0;
    const std::int64_t own = is_compute || looks_on ? barriers : kWarm + calls;
    at += static_cast<std::size_t>(own) + 2;
  }
  return at;
}

/// The calls of a probe in one launch, those to warm up left out.
std::vector<Call> calls_of(const live::RealTimeline& launch, std::size_t probe, const std::vector<Probe>& probes,
                           std::vector<double>& gaps, std::vector<double>& idles) {
  std::vector<Call> calls;
  const std::size_t ranks = launch.ranks.size();
  std::vector<std::vector<const live::OperationRecord*>> own(ranks);
  for (const live::OperationRecord& record : launch.operations) own[record.rank].push_back(&record);
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::size_t at = operations_before(probe, probes, rank);
    const Probe& wanted = probes[probe];
    if (wanted.operation.starts_with("compute")) {
      const live::OperationRecord& before = *own[rank].at(at);
      const live::OperationRecord& after = *own[rank].at(at + 1);
      gaps.push_back(static_cast<double>(count_ps(after.posted) - count_ps(before.done)) /
                     static_cast<double>(wanted.count));
      continue;
    }
    const std::size_t begin = at + static_cast<std::size_t>(kWarm) + 1;
    for (std::size_t i = 0; i < static_cast<std::size_t>(wanted.count); ++i) {
      const live::OperationRecord& record = *own[rank].at(begin + i);
      const auto posted = static_cast<double>(count_ps(record.posted));
      if (rank == 0) calls.push_back({.first_posted = posted, .last_posted = posted});
      Call& call = calls[i];
      call.first_posted = std::min(call.first_posted, posted);
      call.last_posted = std::max(call.last_posted, posted);
      if (rank == 0) call.root_done = static_cast<double>(count_ps(record.done));
      call.done = std::max(call.done, static_cast<double>(count_ps(record.done)));
      idles.push_back(static_cast<double>(count_ps(record.posted) - count_ps(own[rank].at(begin + i - 1)->done)));
    }
    if (rank == 1 && wanted.operation == "message") break;  // It is between the first two.
  }
  return calls;
}

/// How much longer the ranks computed while the operation was under way than after it, in one launch.
std::optional<double> stolen_of(const live::RealTimeline& launch, std::size_t probe,
                                const std::vector<Probe>& probes) {
  std::vector<std::vector<const live::OperationRecord*>> own(launch.ranks.size());
  for (const live::OperationRecord& record : launch.operations) own[record.rank].push_back(&record);
  std::vector<double> differences;
  for (std::size_t rank = 0; rank < own.size(); ++rank) {
    if (rank > 1 && probes[probe].operation == "message") break;
    std::size_t at = operations_before(probe, probes, rank) + static_cast<std::size_t>(kWarm) + 1;
    for (std::int64_t i = 0; i < probes[probe].count; ++i, at += 4) {
      const live::OperationRecord& before = *own[rank].at(at);
      const live::OperationRecord& beside = *own[rank].at(at + 2);
      const Time end = own[rank].at(at + 3)->posted;
      if (beside.done >= end) continue;  // It took longer than the computing.
      const Duration alone = own[rank].at(at + 1)->posted - before.done;
      differences.push_back(static_cast<double>(count_ps(end - beside.posted - alone)));
    }
  }
  if (differences.empty()) return {};
  return median(differences);
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
      add(probes, name, budget_of(options), 0);
    }
  }
  return probes;
}

std::vector<Probe> plan_waking(const CalibrateOptions& options) {
  constexpr std::array<std::int64_t, 5> kPauses{0, 2, kPause, 32, 96};
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
  constexpr std::array<std::int64_t, 3> kParts{120, 30, 10};  // Of the budget: a call takes milliseconds of a link.
  constexpr std::int64_t kCalls = 8;
  for (const char* name : {"all_to_all_single", "all_gather"}) {
    for (const std::int64_t part : kParts) {
      for (const std::int64_t late : kLate) {
        Probe probe{name, budget_of(options) / part, kCalls, kPause};
        if (probe.operation == "all_gather") probe.bytes /= options.ranks;
        probe.late = late;
        probes.push_back(probe);
      }
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
    const std::string prefix = probe.overlaps ? "beside:" : "";
    list.push_back({prefix + probe.operation, probe.bytes, probe.count, probe.pause});
    if (probe.late > 0) list.back().push_back(probe.late);
  }
  return list.dump();
}

namespace {

std::vector<live::RealTimeline> measure(const CalibrateOptions& options, const std::vector<Probe>& probes,
                                        std::vector<std::string>& notes) {
  RealOptions real;
  real.launch = options.launch;
  real.launch.ranks = options.ranks;
  real.launch.program = {options.launch.package + "/live/probe.py", plan_text(probes)};
  real.keep = options.keep;
  real.repeat = options.repeat;
  real.link = options.link;
  real.output_to_stderr = true;
  real.option_prefix = options.option_prefix;
  real.wants_stop = options.wants_stop;
  real.say = options.say;
  return launch_real(real, notes);
}

std::vector<live::RealTimeline> read_measured(const CalibrateOptions& options, const std::vector<Probe>& probes) {
  std::vector<live::RealTimeline> launches = read_launches(options.from);
  for (const live::RealTimeline& launch : launches) {
    std::vector<std::size_t> counts(launch.ranks.size());
    for (const live::OperationRecord& record : launch.operations) ++counts[record.rank];
    bool is_same = static_cast<std::int64_t>(counts.size()) == options.ranks;
    for (std::size_t rank = 0; rank < counts.size(); ++rank) {
      is_same = is_same && counts[rank] == operations_before(probes.size(), probes, rank);
    }
    if (!is_same) {
      throw InputError{fmt::format(
          "{}: recordings of something else: expected those of 'calibrate {}' with the same ranks and link",
          options.from, options.what)};
    }
  }
  return launches;
}

}  // namespace

std::vector<ProbeTimes> run_probes(const CalibrateOptions& options, const std::vector<Probe>& probes,
                                   std::vector<std::string>& notes) {
  const std::vector<live::RealTimeline> launches =
      options.from.empty() ? measure(options, probes, notes) : read_measured(options, probes);
  std::vector<ProbeTimes> result(probes.size());
  std::vector<Launches> all_times(probes.size());
  std::vector<LateCall> late;
  for (std::size_t i = 0; i < probes.size(); ++i) {
    std::vector<double> left;
    for (const live::RealTimeline& launch : launches) {
      if (probes[i].overlaps) {
        const std::optional<double> stolen = stolen_of(launch, i, probes);
        if (stolen) result[i].stolen.push_back(*stolen);
        continue;
      }
      std::vector<double> gaps;
      std::vector<double> idles;
      const std::vector<Call> calls = calls_of(launch, i, probes, gaps, idles);
      all_times[i].push_back(times_together(calls));
      if (probes[i].operation == "broadcast") left.push_back(left_over(calls));
      if (probes[i].late > 0) append_late(calls, point_of(probes[i], options.ranks).size, result[i].late);
      if (!gaps.empty()) result[i].gaps.push_back(median(gaps));
      if (!idles.empty()) result[i].idles.push_back(median(idles));
    }
    if (!left.empty()) result[i].buffered = median(left);
    if (probes[i].operation == "all_to_all_single") {
      late.insert(late.end(), result[i].late.begin(), result[i].late.end());
    }
  }
  const std::optional<Notice> notice = find_notice(late);
  const bool may_follow = !notice || !notice->is_never;
  const double pace = pace_of(probes, all_times);
  std::map<std::string, double> least;  // By operation.
  for (std::size_t i = 0; i < probes.size(); ++i) {
    if (may_follow && is_exchange(probes[i]) && probes[i].late == 0 && !probes[i].overlaps) {
      const auto first = least.try_emplace(probes[i].operation, trimmed_mean(pooled(all_times[i]))).first;
      leave_shared(probes[i], options.ranks, pace, first->second, all_times[i]);
    }
    for (const std::vector<double>& launch : all_times[i]) {
      if (!launch.empty()) result[i].means.push_back(trimmed_mean(launch));
    }
    result[i].mean = trimmed_mean(pooled(all_times[i]));
  }
  return result;
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
