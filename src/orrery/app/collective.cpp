// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/collective.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/app/collective_point.hpp"
#include "orrery/app/collective_records.hpp"
#include "orrery/app/worker_pool.hpp"
#include "orrery/base/digest.hpp"
#include "orrery/base/text.hpp"
#include "orrery/collectives/select/effort.hpp"
#include "orrery/timeline/recorder.hpp"
#include "orrery/timeline/timeline_file.hpp"
#include "orrery/topology/catalog.hpp"

namespace orrery::app {
namespace {

/// By size, then algorithm.
std::vector<CollectivePoint> list_points(const CollectivePlan& plan, const CollectiveOptions& options,
                                         topology::Router& router, collectives::EffortBudget& budget) {
  const std::string catalog = options.catalog.empty() ? topology::catalog_directory() : options.catalog;
  const collectives::SelectionContext context{plan.cluster, router,     plan.algorithms,
                                              plan.nodes,   plan.group, catalog};
  std::vector<CollectivePoint> points;
  for (const Bytes size : plan.sizes) {
    if (options.wants_stop && options.wants_stop()) throw engine::Interrupted{};
    std::vector<collectives::Choice> choices =
        collectives::select(options.algorithm, plan.request(size, options.root), context);
    if (options.algorithm == "auto") budget.apply(choices);
    for (collectives::Choice& choice : choices) points.push_back({size, std::move(choice)});
  }
  return points;
}

/// "auto left out direct (1998000 messages), ...", when it did.
void warn_of_dropped(const collectives::EffortBudget& budget, const CollectiveOptions& options,
                     std::vector<std::string>& warnings) {
  std::vector<std::string> names;
  for (const collectives::EffortBudget::Dropped& dropped : budget.dropped()) {
    names.push_back(fmt::format("{} ({} messages)", dropped.algorithm, dropped.messages));
  }
  if (names.empty()) return;
  warnings.push_back(
      fmt::format("auto left out {}, k sent in a row counting k * k: over the budget of {}; --budget raises "
                  "it, 'all' has none",
                  join(names, ", "), options.budget));
}

/// Marks the fastest of each size: rows of one size stand together.
void mark_best(std::vector<CollectiveRow>& rows) {
  for (std::size_t first = 0; first < rows.size();) {
    std::size_t end = first;
    std::size_t best = first;
    for (; end < rows.size() && rows[end].size_bytes == rows[first].size_bytes; ++end) {
      if (rows[end].time_ps < rows[best].time_ps) best = end;
    }
    rows[best].is_best = true;
    first = end;
  }
}

/// The row that a timeline is made of: the best algorithm at the largest size.
std::size_t row_to_trace(const std::vector<CollectiveRow>& rows) {
  std::size_t chosen = 0;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const bool is_larger = rows[i].size_bytes > rows[chosen].size_bytes;
    const bool is_better = rows[i].size_bytes == rows[chosen].size_bytes && rows[i].is_best;
    if (is_larger || is_better) chosen = i;
  }
  return chosen;
}

/// Runs one point again with a recorder: observing never changes a result, so the runs without stay fast.
void write_trace(const CollectivePoint& point, const PointContext& context, CollectiveResult& result) {
  timeline::Recorder recorder;
  PointContext observed = context;
  observed.observer = &recorder;
  const CollectiveRow row = run_point(point, observed);
  const auto same = std::ranges::find(result.rows, row.digest, &CollectiveRow::digest);
  ORRERY_CHECK(same != result.rows.end(), "the observed run of {} differs from the unobserved one",
               row.algorithm);
  timeline::write_timeline(recorder, manifest_of(result), context.options.trace);
  result.trace = context.options.trace;
  result.trace_note = fmt::format("{} at {}", row.algorithm, to_text(point.size));
}

}  // namespace

CollectiveResult collective(const CollectiveOptions& options) {
  const CollectivePlan plan = plan_collective(options);
  CollectiveResult result;
  result.cluster = plan.cluster.name;
  result.network = plan.network.resolved;
  result.warnings = plan.cluster.warnings;
  result.seed = options.seed;
  result.configuration = describe_plan(plan, options);
  result.command = options.command;

  std::vector<std::unique_ptr<topology::Router>> routers(plan.workers);
  for (std::unique_ptr<topology::Router>& router : routers) {
    router = std::make_unique<topology::Router>(plan.cluster.graph);
  }
  collectives::EffortBudget budget{plan.algorithms, static_cast<std::uint64_t>(options.budget)};
  const std::vector<CollectivePoint> points = list_points(plan, options, *routers[0], budget);
  warn_of_dropped(budget, options, result.warnings);
  result.rows.resize(points.size());
  PoolOptions pool{.workers = plan.workers, .wants_stop = options.wants_stop};
  if (options.on_progress) {
    pool.on_progress = [&](std::size_t done) { options.on_progress(done, points.size()); };
  }
  run_pool(points.size(), pool, [&](std::size_t index, std::size_t worker, const StopFlag& stop) {
    const std::function<bool()> wants_stop = [&stop] { return stop.load(std::memory_order_relaxed); };
    result.rows[index] = run_point(points[index], {plan, options, *routers[worker], wants_stop});
  });

  Digest digest;
  for (const CollectiveRow& row : result.rows) digest.add(row.digest);
  result.digest = digest.value();
  mark_best(result.rows);
  if (!options.trace.empty()) {
    write_trace(points[row_to_trace(result.rows)], {plan, options, *routers[0], options.wants_stop}, result);
  }
  return result;
}

}  // namespace orrery::app
