// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <algorithm>

#include "orrery/app/calibrate_fit.hpp"
#include "orrery/app/live_run.hpp"
#include "orrery/app/real_run.hpp"
#include "orrery/app/scratch_folder.hpp"
#include "orrery/app/statistics.hpp"

namespace orrery::app {
namespace {

double mean_compute(const std::vector<live::RankTimes>& ranks) {
  double sum = 0;
  for (const live::RankTimes& rank : ranks) sum += static_cast<double>(count_ps(rank.compute));
  return sum / static_cast<double>(ranks.size());
}

double real_compute(const CalibrateOptions& options, const std::vector<std::string>& program) {
  RealOptions real;
  real.launch = options.launch;
  real.launch.ranks = options.ranks;
  real.launch.program = program;
  // Over loopback: on a slow link the cores are idle for most of the time, and what follows is another matter.
  real.warmup = "barrier:1";
  real.output_to_stderr = true;
  real.option_prefix = options.option_prefix;
  real.wants_stop = options.wants_stop;
  return mean_compute(run_real(real).repeats.at(0).ranks);
}

double simulated_compute(const CalibrateOptions& options, const std::vector<std::string>& program,
                         const std::string& cluster) {
  LiveOptions live;
  live.cluster = cluster;
  live.launch = options.launch;
  live.launch.ranks = options.ranks;
  live.launch.program = program;
  live.compute = "measured:raw";  // The host's noise is on both sides.
  live.warmup = "barrier:1";
  live.output_to_stderr = true;
  live.option_prefix = options.option_prefix;
  live.wants_stop = options.wants_stop;
  const LiveResult result = run_live(live);
  std::vector<live::RankTimes> ranks;
  for (const LiveRank& rank : result.ranks) ranks.push_back(rank.times);
  return mean_compute(ranks);
}

/// The median, unless it cannot be told from 1: a host's noise is no property of it. Ten factors are all on one side of
/// 1 by chance once in 512 times.
double told_from_one(const std::vector<double>& factors) {
  const auto [least, most] = std::ranges::minmax(factors);
  return least <= 1 && most >= 1 ? 1 : median(factors);
}

}  // namespace

double compute_scale(const CalibrateOptions& options, const ClusterValues& values, Calibration& result) {
  const ScratchFolder scratch{"calibrate"};
  const std::string path = write_candidate(values, options.ranks, scratch.path());
  std::vector<double> all;
  for (const char* rows : {"1", "96"}) {
    const std::vector<std::string> program{options.launch.package + "/live/reference.py", rows};
    // In turns, as a host's speed drifts.
    std::vector<double> factors;
    for (std::int64_t i = 0; i < options.repeat; ++i) {
      factors.push_back(real_compute(options, program) / simulated_compute(options, program, path));
    }
    const double factor = median(factors);
    result.slowdown.emplace_back(fmt::format("blocks of {} rows", rows), factor);
    all.insert(all.end(), factors.begin(), factors.end());
  }
  return told_from_one(all);
}

}  // namespace orrery::app
