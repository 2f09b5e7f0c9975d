// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/replay_plan.hpp"

#include <fmt/format.h>

#include <limits>

#include "orrery/app/cluster_digest.hpp"
#include "orrery/app/cluster_report.hpp"
#include "orrery/app/live_records.hpp"
#include "orrery/app/output_check.hpp"
#include "orrery/astra/cluster.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/chakra/open_traces.hpp"
#include "orrery/collectives/algorithm.hpp"
#include "orrery/timeline/timeline_file.hpp"
#include "orrery/topology/catalog.hpp"
#include "orrery/topology/load_cluster.hpp"
#include "orrery/workload/generate/generate.hpp"
#include "orrery/workload/rescale.hpp"

namespace orrery::app {
namespace {

[[noreturn]] void refuse(const ReplayOptions& options, const char* option, const std::string& value,
                         const std::string& expected) {
  throw InputError{{.source = options.option_prefix + option,
                    .position = {},
                    .field = {},
                    .value = value,
                    .expected = expected,
                    .nearest = {}}};
}

void check_outputs(const ReplayOptions& options) {
  check_output_folder(options.output);
  if (!options.csv.empty()) check_output(options.csv);
  if (options.trace_file.empty()) return;
  timeline::check_timeline_path(options.trace_file);
  check_output(options.trace_file);
}

Bytes read_eager_limit(const ReplayOptions& options) {
  if (options.eager_limit.empty()) {
    const bool is_eager = options.astra && !options.astra->is_rendezvous;
    return is_eager ? Bytes{std::numeric_limits<std::int64_t>::max()} : Bytes{};
  }
  const std::optional<std::int64_t> plain = parse_integer(options.eager_limit);
  const std::optional<Bytes> limit = plain ? Bytes{*plain} : parse_bytes(options.eager_limit);
  if (!limit || limit->count() < 0) {
    refuse(options, "eager-limit", options.eager_limit, "expected a size, such as 64KiB");
  }
  return *limit;
}

/// Words that name one way to run a collective; "auto" and "all" compare several.
void check_algorithm(const std::string& word, const ReplayOptions& options) {
  if (word == "gloo" || word == "nccl" || word.starts_with("msccl:") || word.ends_with(".xml")) return;
  if (word == "auto" || word == "all" || word.find(',') != std::string::npos) {
    refuse(options, "algorithm", word,
           "expected one way to run collectives: gloo, nccl, msccl:FILE or an algorithm's name; or one for "
           "each, "
           "as all_reduce=ring,all_to_all=direct");
  }
  const collectives::AlgorithmRegistry algorithms = collectives::builtin_algorithms();
  static_cast<void>(algorithms.get(word));  // InputError on unknown names.
}

void choose_algorithm(ReplayPlan& plan, const ReplayOptions& options) {
  plan.fallback = plan.cluster.nccl_platform.empty() ? "gloo" : "nccl";
  plan.algorithm = options.algorithm.empty() ? plan.fallback : options.algorithm;
  if (plan.algorithm.find('=') == std::string::npos) return check_algorithm(plan.algorithm, options);
  plan.algorithm = plan.fallback;
  for (const std::string_view part : split(options.algorithm, ',')) {
    const std::size_t equals = part.find('=');
    const auto operation = collectives::parse_operation(trim(part.substr(0, equals)));
    if (equals == std::string_view::npos || !operation) {
      refuse(options, "algorithm", std::string{part}, "expected OPERATION=NAME, as all_reduce=ring");
    }
    const std::string name{trim(part.substr(equals + 1))};
    check_algorithm(name, options);
    plan.algorithm_of[*operation] = name;
  }
}

/// Memory over time is for those who look at times: it takes as long as the replay, and grows with the trace.
bool wants_memory(const ReplayOptions& options) { return !options.output.empty() || !options.trace_file.empty(); }

/// ASTRA-sim's files as a workload on the graph that they describe.
void read_astra(ReplayPlan& plan, const ReplayOptions& options) {
  astra::Warnings warnings;
  astra::Inputs inputs = read_astra_inputs(*options.astra, warnings);
  plan.cluster = astra::build_cluster(inputs.network, &inputs.system);
  if (inputs.memory.kind != astra::MemoryKind::kAbsent) {
    topology::DeviceSpec& device = plan.cluster.devices.front();
    device.remote_bandwidth =
        Bandwidth::bytes_per_second(static_cast<std::int64_t>(inputs.memory.bandwidth) * 1'000'000'000);
    device.remote_latency = picoseconds(static_cast<std::int64_t>(inputs.memory.latency) * 1000);
  }
  plan.workload = chakra::open_traces(options.astra->workload, options.astra->comm_group, {},
                                      wants_memory(options));
  if (options.compute.empty()) {
    // A node that says nothing takes a nanosecond there.
    plan.compute = workload::ComputeTime::parse(inputs.system.roofline ? "roofline" : "recorded:1ns",
                                                options.option_prefix + "compute");
  }
  choose_algorithm(plan, options);
  if (!options.algorithm.empty()) return;
  using collectives::Operation;
  constexpr std::pair<astra::Collective, Operation> kBoth[]{
      {astra::Collective::kAllReduce, Operation::kAllReduce},
      {astra::Collective::kAllGather, Operation::kAllGather},
      {astra::Collective::kReduceScatter, Operation::kReduceScatter},
      {astra::Collective::kAllToAll, Operation::kAllToAll}};
  for (const auto& [theirs, ours] : kBoth) {
    const std::string name = astra::algorithm_name(inputs.system, theirs);
    if (!name.empty()) plan.algorithm_of[ours] = name;
  }
}

void read_native(ReplayPlan& plan, const ReplayOptions& options) {
  if (options.trace.empty()) throw InputError{"expected a trace: a prefix, a folder or a file"};
  if (options.cluster.empty()) refuse(options, "cluster", {}, "expected a file, a preset or a generator");
  topology::LoadOptions load;
  load.source = options.option_prefix + "cluster";
  load.lenient = options.lenient;
  load.catalog = options.catalog;
  plan.cluster = topology::load_cluster(options.cluster, load);
  check_reachable(plan.cluster, options.cluster);
  choose_algorithm(plan, options);
  if (workload::generate::is_recipe(options.trace)) {
    plan.workload = workload::generate::make_workload(
        workload::generate::parse_recipe(options.trace, "TRACE", options.catalog));
  } else {
    plan.workload = chakra::open_traces(options.trace, options.comm_group, {}, wants_memory(options));
  }
}

}  // namespace

ReplayPlan plan_replay(const ReplayOptions& options) {
  const std::string& prefix = options.option_prefix;
  ReplayPlan plan;
  plan.network = choose_network(options.network.empty() ? "flow" : options.network,
                                network::builtin_networks(), prefix + "network");
  plan.compute = workload::ComputeTime::parse(options.compute.empty() ? "recorded" : options.compute,
                                              prefix + "compute");
  plan.streams = workload::parse_streams(options.streams, prefix + "streams");
  plan.eager_limit = read_eager_limit(options);
  constexpr std::int64_t kWidest = std::int64_t{1} << 40;
  if (options.window < 0 || options.window > kWidest) {
    refuse(options, "window", fmt::format("{}", options.window), "expected a number of operations from 1");
  }
  plan.catalog = options.catalog.empty() ? topology::catalog_directory() : options.catalog;
  check_outputs(options);
  if (options.astra) {
    read_astra(plan, options);
  } else {
    read_native(plan, options);
  }
  if (options.streams.empty()) {
    plan.streams = workload::parse_streams(plan.workload.streams, plan.workload.name + ": orrery_streams");
  }
  if (options.ranks) {
    plan.workload = workload::rescale(std::move(plan.workload), *options.ranks, prefix + "ranks");
  }
  if (plan.workload.ranks > plan.cluster.ranks.size()) {
    throw InputError{fmt::format("{}: the workload has {} ranks, cluster '{}' has {}", plan.workload.name,
                                 plan.workload.ranks, plan.cluster.name, plan.cluster.ranks.size())};
  }
  return plan;
}

std::vector<std::pair<std::string, std::string>> describe_plan(const ReplayPlan& plan,
                                                               const ReplayOptions& options) {
  return {
      {"workload", plan.workload.name},
      {"ranks", fmt::format("{}", plan.workload.ranks)},
      {"cluster", plan.cluster.name},
      {"cluster_digest", fmt::format("{:016x}", cluster_digest(plan.cluster))},
      {"network", plan.network.resolved},
      {"algorithm", options.algorithm.empty() ? plan.algorithm : options.algorithm},
      {"compute", options.compute},
      {"streams", workload::to_text(plan.streams)},
      {"eager_limit", orrery::to_text(plan.eager_limit)},
      {"window", fmt::format("{}", options.window)},
      {"fold", options.folds ? "true" : "false"},
  };
}

}  // namespace orrery::app
