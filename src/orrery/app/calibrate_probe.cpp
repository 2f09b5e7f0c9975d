// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/calibrate_probe.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "orrery/app/calibrate_notice.hpp"
#include "orrery/app/calibrate_plan.hpp"
#include "orrery/app/calibrate_shared.hpp"
#include "orrery/app/real_run.hpp"
#include "orrery/app/statistics.hpp"
#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"

namespace orrery::app {
namespace {

constexpr std::int64_t kWarm = 2;  // Calls of each probe before those that count.

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

/// Operations to each call of a probe: after a pause it has a barrier before it, beside computing also one after it,
/// and that in turn.
std::size_t stride_of(const Probe& probe) { return probe.overlaps ? 4 : probe.pause > 0 ? 2 : 1; }

/// How many operations of the rank come before a probe: the first barrier, and those of the probes before.
std::size_t operations_before(std::size_t probe, const std::vector<Probe>& probes, std::size_t rank) {
  std::size_t at = 1;
  for (std::size_t i = 0; i < probe; ++i) {
    const bool is_compute = probes[i].operation.starts_with("compute");
    const bool looks_on = rank > 1 && probes[i].operation == "message";
    const auto count = static_cast<std::size_t>(probes[i].count);
    const std::size_t stride = stride_of(probes[i]);
    const std::size_t barriers = stride / 2 * count;
    at += is_compute || looks_on ? barriers : static_cast<std::size_t>(kWarm) + stride * count;
    at += 2;
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
    const std::size_t stride = stride_of(wanted);
    const std::size_t begin = at + static_cast<std::size_t>(kWarm) + stride;
    for (std::size_t i = 0; i < static_cast<std::size_t>(wanted.count); ++i) {
      const std::size_t place = begin + i * stride;
      const live::OperationRecord& record = *own[rank].at(place);
      const auto posted = static_cast<double>(count_ps(record.posted));
      if (rank == 0 || wanted.is_alone) calls.push_back({.first_posted = posted, .last_posted = posted});
      Call& call = wanted.is_alone ? calls.back() : calls[i];
      call.first_posted = std::min(call.first_posted, posted);
      call.last_posted = std::max(call.last_posted, posted);
      if (rank == 0) call.root_done = static_cast<double>(count_ps(record.done));
      call.done = std::max(call.done, static_cast<double>(count_ps(record.done)));
      idles.push_back(static_cast<double>(count_ps(record.posted - own[rank].at(place - 1)->done)));
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
          "{}: recordings of something else, or of another version: expected those of 'calibrate {}' with the same "
          "ranks and link",
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
    if (may_follow && is_exchange(probes[i])) {
      const auto first = least.try_emplace(probes[i].operation, trimmed_mean(pooled(all_times[i]))).first;
      leave_shared(pace * received_bytes(probes[i], options.ranks), first->second, all_times[i]);
    }
    for (const std::vector<double>& launch : all_times[i]) {
      if (!launch.empty()) result[i].means.push_back(trimmed_mean(launch));
    }
    result[i].mean = median(result[i].means);
  }
  return result;
}

}  // namespace orrery::app
