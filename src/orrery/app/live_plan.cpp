// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/live_plan.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/app/cluster_digest.hpp"
#include "orrery/app/cluster_report.hpp"
#include "orrery/app/live_device.hpp"
#include "orrery/app/live_device_map.hpp"
#include "orrery/app/live_records.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/collectives/algorithm.hpp"
#include "orrery/live/ledger_files.hpp"
#include "orrery/topology/catalog.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::app {
namespace {

constexpr std::int64_t kMostJobs = 1024;

void check_ranks(const LiveOptions& options, const topology::Cluster& cluster) {
  if (!options.launch.ranks) return;
  const std::int64_t ranks = *options.launch.ranks;
  const auto available = static_cast<std::int64_t>(cluster.ranks.size());
  if (ranks >= 1 && ranks <= available) return;
  refuse_option(options, "ranks", fmt::format("{}", ranks),
                fmt::format("cluster '{}' has {} rank{}; expected 1 to {}", cluster.name, available,
                            available == 1 ? "" : "s", available));
}

/// Before anything is started, where the number of ranks is known.
void check_ledgers(const LiveOptions& options, const live::ComputeChoice& compute) {
  if (compute.mode != live::MeterMode::kLedger || !options.launch.ranks) return;
  live::LedgerFiles tried;
  const auto world = static_cast<std::size_t>(*options.launch.ranks);
  for (std::size_t rank = 0; rank < world; ++rank) {
    tried.provide(compute.ledger, rank, world);
  }
}

/// What computing needs is told per operator, so operators must have times.
void check_dataflow(const LiveOptions& options, const live::ComputeChoice& compute) {
  if (!options.follows_data) return;
  if (options.capture.empty()) {
    refuse_option(options, "dataflow", "",
                  "expected --capture FOLDER beside it: the capture carries what is found");
  }
  const bool is_measured = compute.mode == live::MeterMode::kMeasured && !compute.is_raw;
  if (!is_measured && compute.mode != live::MeterMode::kFixedOperator) {
    refuse_option(options, "compute", options.compute,
                  "expected measured or fixed:TIME/op with --dataflow: operators have no times of their own");
  }
}

void check_capture(const LiveOptions& options) {
  if (options.capture.empty()) return;
  if (!options.faults.empty()) {
    refuse_option(options, "capture", options.capture,
                  "a run with faults cannot be captured: a trace has none");
  }
  if (options.capture == options.output) {
    refuse_option(options, "capture", options.capture, "expected another folder than that of the results");
  }
  check_output_folder(options.capture);
}

}  // namespace

void refuse_option(const LiveOptions& options, const char* option, const std::string& value,
                   const std::string& expected) {
  throw InputError{{.source = options.option_prefix + option,
                    .position = {},
                    .field = {},
                    .value = value,
                    .expected = expected,
                    .nearest = {}}};
}

std::uint64_t check_warmup(const LiveOptions& options) {
  const std::string& text = options.warmup;
  const std::size_t colon = text.find(':');
  const std::string kind = colon == std::string::npos ? "" : text.substr(0, colon);
  const std::string value = text.substr(colon == std::string::npos ? 0 : colon + 1);
  if (text.empty() || (kind == "mark" && !value.empty())) return 0;
  const auto count = parse_integer(value);
  if (!count || *count < 1 || (colon != std::string::npos && kind != "barrier")) {
    refuse_option(
        options, "warmup", text,
        "expected a number of optimizer steps, barrier:N, or mark:NAME (a record_function of that name)");
  }
  return kind == "barrier" ? static_cast<std::uint64_t>(*count) : 0;
}

LivePlan plan_live(const LiveOptions& options) {
  const std::string& prefix = options.option_prefix;
  LivePlan plan;
  if (options.cluster.empty()) {
    refuse_option(options, "cluster", {}, "expected a file, a preset or a generator");
  }
  plan.network = choose_network(options.network, network::builtin_networks(), prefix + "network");
  plan.compute = live::parse_compute(options.compute, prefix + "compute");
  if (options.jobs < 1 || options.jobs > kMostJobs) {
    refuse_option(options, "jobs", fmt::format("{}", options.jobs),
                  fmt::format("expected 1 to {}", kMostJobs));
  }
  if (options.tags_output && !options.launch.ranks) {
    refuse_option(options, "tag-output", {}, "needs the number of ranks (-n)");
  }
  plan.warmup_barriers = check_warmup(options);
  topology::LoadOptions load;
  load.source = prefix + "cluster";
  load.catalog = options.catalog;
  plan.cluster = topology::load_cluster(options.cluster, load);
  check_reachable(plan.cluster, options.cluster);
  check_ranks(options, plan.cluster);
  check_ledgers(options, plan.compute);
  if (plan.compute.is_raw && !options.device_map.empty()) {
    refuse_option(
        options, "compute", options.compute,
        "CPU time as a whole does not tell the device's part: with --device-map expected measured or model");
  }
  if (plan.compute.mode == live::MeterMode::kModel) {
    plan.models = device_models(plan.cluster, plan.compute.uses_tables);
  }
  plan.is_device_time =
      !plan.models.empty() || (plan.compute.mode == live::MeterMode::kLedger &&
                               live::has_device_time(live::ledger_path(plan.compute.ledger, 0)));
  if (plan.is_device_time && plan.models.empty() && !options.device_map.empty()) {
    refuse_option(options, "compute", options.compute,
                  "the ledger of a run by model does not say when the device's work was launched: with "
                  "--device-map run --compute model again, which gives the same");
  }
  plan.catalog = options.catalog.empty() ? topology::catalog_directory() : options.catalog;
  plan.fallback = plan.cluster.nccl_platform.empty() ? "gloo" : "nccl";
  plan.algorithm = options.algorithm.empty() ? plan.fallback : options.algorithm;
  if (plan.algorithm != "gloo" && plan.algorithm != "nccl") {
    const collectives::AlgorithmRegistry algorithms = collectives::builtin_algorithms();
    static_cast<void>(algorithms.get(plan.algorithm));  // InputError on unknown names.
  }
  if (!options.faults.empty()) {
    plan.faults = live::read_faults(options.faults, plan.cluster);
    // Links fail as they change by the cluster's own description.
    std::vector<topology::LinkEvent>& events = plan.cluster.events;
    events.insert(events.end(), plan.faults.links.begin(), plan.faults.links.end());
    std::ranges::stable_sort(events, {}, &topology::LinkEvent::at);
  }
  check_device_map(options);
  check_output_folder(options.output);
  check_capture(options);
  check_dataflow(options, plan.compute);
  return plan;
}

std::vector<std::pair<std::string, std::string>> describe_plan(const LivePlan& plan,
                                                               const LiveOptions& options,
                                                               std::size_t world) {
  return {
      {"program", join(options.launch.program, " ")},
      {"cluster", plan.cluster.name},
      {"cluster_digest", fmt::format("{:016x}", cluster_digest(plan.cluster))},
      {"ranks", fmt::format("{}", world)},
      {"network", plan.network.resolved},
      {"algorithm", plan.algorithm},
      {"compute", options.compute},
      {"device_map", options.device_map},
      {"faults", options.faults},
      {"warmup", options.warmup},
  };
}

}  // namespace orrery::app
