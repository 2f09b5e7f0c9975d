// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/explain.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <limits>

#include "orrery/app/output_check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/version.hpp"

namespace orrery::app {
namespace {

void check_options(const ExplainOptions& options) {
  if (options.top < 1) {
    throw InputError{{.source = options.replay.option_prefix + "top",
                      .position = {},
                      .field = {},
                      .value = fmt::format("{}", options.top),
                      .expected = "expected a number from 1",
                      .nearest = {}}};
  }
  if (!options.output.empty()) check_output(options.output);
}

/// The longest, in the order in which they are.
void keep_longest(std::vector<PathStep>& steps, std::size_t count) {
  if (steps.size() <= count) return;
  std::vector<PathStep> longest = steps;
  std::ranges::stable_sort(longest, std::greater{},
                           [](const PathStep& step) { return step.end - step.begin; });
  longest.resize(count);
  std::ranges::sort(longest, {}, &PathStep::begin);
  steps = std::move(longest);
}

}  // namespace

ExplainResult explain(const ReplayPlan& plan, const ExplainOptions& options) {
  const ReplayOptions& replay = options.replay;
  const std::size_t most =
      options.is_complete ? std::numeric_limits<std::size_t>::max() : static_cast<std::size_t>(options.top);
  const ExplainGraph graph{plan.workload};
  const ExplainRunner runner{plan, replay};
  const ExplainRun run = runner.run(graph);
  const ExplainCauses causes{graph, run, plan.eager_limit};
  ExplainResult result;
  result.total_ps = run.total_ps;
  result.workload = plan.workload.name;
  result.cluster = plan.cluster.name;
  result.network = plan.network.name;
  result.algorithm = replay.algorithm.empty() ? plan.algorithm : replay.algorithm;
  result.compute = replay.compute.empty() ? "recorded" : replay.compute;
  result.ranks = graph.ranks();
  result.operations = run.operations;
  result.sites = graph.sites();
  result.path = critical_path(causes);
  result.path_steps = result.path.steps.size();
  keep_longest(result.path.steps, most);
  result.exposed = exposed_sites(causes);
  result.overlap = find_overlap({.causes = causes,
                                 .runner = runner,
                                 .exposed = result.exposed,
                                 .most = most,
                                 .is_as_recorded = result.compute.starts_with("recorded")});
  result.notes = run.notes;
  result.shown = most;
  result.manifest = {.version = std::string{kVersion},
                     .commit = std::string{commit()},
                     .seed = replay.seed,
                     .digest = run.digest,
                     .configuration = describe_plan(plan, replay),
                     .command = replay.command};
  return result;
}

ExplainResult explain(const ExplainOptions& options) {
  const auto began = std::chrono::steady_clock::now();
  check_options(options);
  ExplainResult result = explain(plan_replay(options.replay), options);
  if (!options.output.empty()) {
    OutputFile file{options.output};
    file.write(to_json(result));
    file.commit();
    result.files.push_back(options.output);
  }
  result.wall_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return result;
}

}  // namespace orrery::app
