// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery compare`: two results, simulated or real, with or without repeats.
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/app/statistics.hpp"

namespace orrery::app {

/// One launch, or one simulated run, after its warm-up. Times in picoseconds.
struct RunSample {
  double total = 0;
  std::vector<std::map<std::string, double>> ranks;  ///< Of each: compute, communication, waiting, sleeping.
  struct Operation {
    double calls = 0;
    double time = 0;
    double waiting = 0;
  };
  std::map<std::string, Operation> operations;  ///< Sums over ranks.
};

struct ComparedRun {
  std::string name;  ///< The folder.
  std::string kind;  ///< "simulated" or "real".
  std::string cluster;
  std::map<std::string, std::string> settings;  ///< What should be alike on both sides, as far as known.
  std::vector<RunSample> samples;
};

/// InputError unless `folder` holds the results of `orrery run --out`.
[[nodiscard]] ComparedRun read_run(const std::string& folder);

/// One figure of both.
struct Difference {
  std::string name;
  double a = 0;  ///< Medians over repeats.
  double b = 0;
  Interval a_interval;
  Interval b_interval;
  double relative = 0;  ///< a / b - 1.
  std::optional<Interval>
      relative_interval;  ///< None where both sides are one run: nothing is known of the spread.
  std::optional<double> p_value;
};

struct ComparedOperation {
  Difference time;     ///< Per rank, from when all parties were there.
  Difference waiting;  ///< Per rank, before that.
  double a_calls = 0;  ///< Per rank.
  double b_calls = 0;
  double share = 0;  ///< Of the difference of the totals.
};

struct Comparison {
  ComparedRun a;
  ComparedRun b;
  std::vector<Difference> figures;  ///< total, compute, communication, waiting, sleeping; means over ranks.
  std::vector<std::vector<Difference>> ranks;  ///< The same without the total, of each rank both have.
  std::vector<ComparedOperation> operations;   ///< The largest difference first.
  std::vector<std::string> notes;              ///< What makes the two unlike, but for what they are.
};

[[nodiscard]] Comparison compare_runs(const std::string& a, const std::string& b);
[[nodiscard]] std::string to_json(const Comparison& comparison);
[[nodiscard]] std::string to_svg(const Comparison& comparison);

}  // namespace orrery::app
