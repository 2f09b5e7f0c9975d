// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/replay.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>

#include "orrery/app/replay_plan.hpp"
#include "orrery/app/replay_records.hpp"
#include "orrery/app/simulation.hpp"
#include "orrery/version.hpp"

namespace orrery::app {
namespace {

using SteadyClock = std::chrono::steady_clock;

constexpr auto kProgressFirst = std::chrono::seconds{1};
constexpr auto kProgressPause = std::chrono::milliseconds{200};

class Replay : Pinned {
 public:
  Replay(const ReplayOptions& options, ReplayPlan plan)
      : options_{options},
        plan_{std::move(plan)},
        next_progress_{SteadyClock::now() + kProgressFirst},
        records_{options},
        simulation_{{.cluster = plan_.cluster,
                     .router = router_,
                     .network = plan_.network,
                     .seed = options.seed,
                     .observer = records_.observer(),
                     .wants_stop = &wants_stop_}},
        executor_{{.engine = simulation_.engine(),
                   .network = simulation_.network(),
                   .router = router_,
                   .cluster = plan_.cluster,
                   .workload = plan_.workload,
                   .compute = plan_.compute,
                   .algorithm = plan_.algorithm,
                   .fallback = plan_.fallback,
                   .catalog = plan_.catalog,
                   .algorithm_of = plan_.algorithm_of,
                   .streams = plan_.streams,
                   .eager_limit = plan_.eager_limit,
                   .window = static_cast<std::size_t>(options.window),
                   .folds = options.folds,
                   .recorder = records_.recorder(),
                   .memory = &memory_,
                   .wants_stop = &wants_stop_}} {}

  ReplayResult run() {
    executor_.run();
    ReplayResult result;
    result.workload = plan_.workload.name;
    result.cluster = plan_.cluster.name;
    result.network = plan_.network.name;
    result.algorithm = options_.algorithm.empty() ? plan_.algorithm : options_.algorithm;
    result.compute = options_.compute.empty() ? "recorded" : options_.compute;
    report_ranks(result);
    report_collectives(result);
    report_links(result);
    result.operations = executor_.finished_operations();
    result.messages = executor_.messages().count();
    result.message_bytes = executor_.messages().bytes().count();
    for (const std::string& note : plan_.compute.notes()) result.notes.push_back(note);
    for (const std::string& note : simulation_.network().notes()) result.notes.push_back(note);
    for (const std::string& warning : plan_.cluster.warnings) result.notes.push_back(warning);
    result.manifest = {.version = std::string{kVersion},
                       .commit = std::string{commit()},
                       .seed = options_.seed,
                       .digest = simulation_.engine().digest(),
                       .configuration = describe_plan(plan_, options_),
                       .command = options_.command};
    records_.write(result);
    return result;
  }

 private:
  void report_ranks(ReplayResult& result) const {
    for (workload::Rank rank = 0; rank < plan_.workload.ranks; ++rank) {
      ReplayRank& one = result.ranks.emplace_back();
      one.times = executor_.times(rank);
      one.node = plan_.cluster.graph.name(plan_.cluster.ranks[rank]);
      one.device = plan_.cluster.devices[plan_.cluster.device_of_rank[rank]].name;
      one.memory = memory_.steps(rank);
      result.total_ps = std::max(result.total_ps, count_ps(one.times.finish));
    }
  }

  void report_collectives(ReplayResult& result) const {
    result.collectives = executor_.collectives();
    std::ranges::stable_sort(result.collectives, std::greater{}, &workload::CollectiveTotal::time);
    if (plan_.algorithm == plan_.fallback && plan_.algorithm_of.empty()) return;
    std::vector<std::string> others;
    for (const workload::CollectiveTotal& total : result.collectives) {
      if (!total.algorithm.starts_with(plan_.fallback + ":")) continue;
      if (std::ranges::find(others, total.operation) == others.end()) others.push_back(total.operation);
    }
    std::ranges::sort(others);
    for (const std::string& operation : others) {
      result.notes.push_back(fmt::format("{} cannot run every {}; those it cannot went as {} would do them",
                                         plan_.algorithm, operation, plan_.fallback));
    }
  }

  void report_links(ReplayResult& result) const {
    const std::vector<network::LinkCounters> counters = executor_.link_counters();
    for (std::size_t i = 0; i < counters.size(); ++i) {
      if (counters[i].messages == 0 && counters[i].packets == 0) continue;
      const topology::LinkId id{i};
      const double capacity = plan_.cluster.graph.link(id).bandwidth.bytes_per_picosecond() *
                              static_cast<double>(result.total_ps);
      const auto bytes = static_cast<double>(counters[i].bytes.count());
      result.links.push_back({.name = plan_.cluster.graph.link_name(id),
                              .bytes = counters[i].bytes.count(),
                              .messages = counters[i].messages,
                              .utilization = capacity > 0 ? bytes / capacity : 0,
                              .packets = counters[i].packets,
                              .drops = counters[i].drops,
                              .marks = counters[i].marks,
                              .pauses = counters[i].pauses,
                              .longest_queue_bytes = counters[i].longest_queue.count()});
    }
    std::ranges::stable_sort(result.links, [](const ReplayLink& a, const ReplayLink& b) {
      return std::pair{a.utilization, a.bytes} > std::pair{b.utilization, b.bytes};
    });
  }

  void show_progress() {
    const auto now = SteadyClock::now();
    if (now < next_progress_) return;
    next_progress_ = now + kProgressPause;
    options_.on_progress({.operations = executor_.finished_operations(),
                          .ranks_done = executor_.done(),
                          .ranks = plan_.workload.ranks,
                          .now = simulation_.engine().now()});
  }

  const ReplayOptions& options_;
  ReplayPlan plan_;
  SteadyClock::time_point next_progress_;
  ReplayRecords records_;
  std::function<bool()> wants_stop_ = [this] {
    if (options_.on_progress) show_progress();
    return options_.wants_stop && options_.wants_stop();
  };
  topology::Router router_{plan_.cluster.graph};
  workload::MemoryUse memory_{plan_.workload.ranks};
  Simulation simulation_;
  workload::Executor executor_;
};

}  // namespace

workload::MemoryStep peak_memory(const ReplayRank& rank) {
  if (rank.memory.empty()) return {};
  return *std::ranges::max_element(rank.memory, {}, &workload::MemoryStep::bytes);
}

ReplayResult replay(const ReplayOptions& options) {
  const auto began = SteadyClock::now();
  const auto run = std::make_unique<Replay>(options, plan_replay(options));
  ReplayResult result = run->run();
  result.wall_seconds = std::chrono::duration<double>(SteadyClock::now() - began).count();
  return result;
}

}  // namespace orrery::app
