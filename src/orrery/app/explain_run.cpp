// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/explain_run.hpp"

#include <algorithm>
#include <utility>

#include "orrery/app/simulation.hpp"
#include "orrery/base/check.hpp"

namespace orrery::app {
namespace {

using workload::Rank;

class TimeKeeper final : public workload::OpRecorder {
 public:
  TimeKeeper(const ExplainGraph& graph, std::vector<std::vector<OpTimes>>& times)
      : graph_{graph}, times_{times} {
    times_.resize(graph.ranks());
    for (Rank rank = 0; rank < graph.ranks(); ++rank) times_[rank].resize(graph.ops(rank).size());
  }
  void on_begin(Rank rank, std::uint64_t id) override { at(rank, id).began = ++count_; }
  void on_op(const workload::OpRecord& record) override {
    OpTimes& times = at(record.rank, record.id);
    times.begin = record.begin;
    times.end = record.end;
    times.ended = ++count_;
    times.resource = record.resource;
  }

 private:
  OpTimes& at(Rank rank, std::uint64_t id) {
    const std::optional<std::uint32_t> found = graph_.find(rank, id);
    ORRERY_CHECK(found.has_value(), "rank {} ran node {}, which it does not have", rank, id);
    return times_[rank][*found];
  }

  const ExplainGraph& graph_;
  std::vector<std::vector<OpTimes>>& times_;
  std::uint64_t count_ = 0;
};

}  // namespace

ExplainRunner::ExplainRunner(const ReplayPlan& plan, const ReplayOptions& options)
    : plan_{plan}, options_{options} {}

ExplainRun ExplainRunner::run(const ExplainGraph& graph) const {
  std::vector<std::vector<OpTimes>> times;
  TimeKeeper keeper{graph, times};
  ExplainRun made = run(graph.all(), &keeper);
  made.times = std::move(times);
  return made;
}

ExplainRun ExplainRunner::run(std::shared_ptr<const RankOps> ops) const {
  return run(std::move(ops), nullptr);
}

ExplainRun ExplainRunner::run(std::shared_ptr<const RankOps> ops, workload::OpRecorder* recorder) const {
  const workload::Workload workload =
      workload::shared_workload(plan_.workload.name, std::move(ops), plan_.workload.groups);
  const std::function<bool()> wants_stop = [this] { return options_.wants_stop && options_.wants_stop(); };
  workload::ComputeTime compute = plan_.compute;  // It counts what it did.
  topology::Router router{plan_.cluster.graph};
  Simulation simulation{{.cluster = plan_.cluster,
                         .router = router,
                         .network = plan_.network,
                         .seed = options_.seed,
                         .wants_stop = &wants_stop}};
  workload::Executor executor{{.engine = simulation.engine(),
                               .network = simulation.network(),
                               .router = router,
                               .cluster = plan_.cluster,
                               .workload = workload,
                               .compute = compute,
                               .algorithm = plan_.algorithm,
                               .fallback = plan_.fallback,
                               .catalog = plan_.catalog,
                               .algorithm_of = plan_.algorithm_of,
                               .streams = plan_.streams,
                               .eager_limit = plan_.eager_limit,
                               .window = static_cast<std::size_t>(options_.window),
                               .folds = options_.folds,
                               .recorder = recorder,
                               .wants_stop = &wants_stop}};
  executor.run();
  ExplainRun made;
  for (Rank rank = 0; rank < workload.ranks; ++rank) {
    made.finish.push_back(executor.times(rank).finish);
    made.total_ps = std::max(made.total_ps, count_ps(made.finish.back()));
  }
  made.operations = executor.finished_operations();
  made.digest = simulation.engine().digest();
  for (const auto& notes : {compute.notes(), simulation.network().notes(), plan_.cluster.warnings}) {
    made.notes.insert(made.notes.end(), notes.begin(), notes.end());
  }
  return made;
}

}  // namespace orrery::app
