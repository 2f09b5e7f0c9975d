// SPDX-License-Identifier: Apache-2.0
// ASTRA-sim's own options of `orrery replay`.
#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/quantities.hpp"
#include "orrery/cli/replay_arguments.hpp"
#include "orrery/cli/replay_text.hpp"
#include "orrery/cli/session.hpp"

namespace orrery::cli {
namespace {

constexpr std::size_t kRanksShown = 16;

double read_scale(const char* option, const std::string& text) {
  const std::optional<double> scale = parse_number(text);
  if (!scale || *scale < 0) {
    throw InputError{fmt::format("{}: '{}': expected a number from 0", option, text)};
  }
  return *scale;
}

/// ASTRA-sim's flags take 1, 0, true and false.
bool read_truth(const char* option, const std::string& text) {
  if (text == "true" || text == "1") return true;
  if (text == "false" || text == "0") return false;
  throw InputError{fmt::format("{}: '{}': expected true or false", option, text)};
}

}  // namespace

void add_astra_options(CLI::App& command, AstraArguments& arguments) {
  const auto add = [&](const char* name, std::string& value, const char* kind, const char* help) {
    CLI::Option* option = command.add_option(name, value, help)->type_name(kind)->group("ASTRA-sim's files");
    if (!value.empty()) option->capture_default_str();
  };
  app::AstraReplayOptions& options = arguments.options;
  add("--astra-workload,--workload-configuration", options.workload, "PREFIX", "Rank 3 is in PREFIX.3.et");
  add("--astra-system,--system-configuration", options.system, "FILE", "System JSON");
  add("--astra-network,--network-configuration", options.network, "FILE", "Network YAML");
  add("--astra-memory,--remote-memory-configuration", options.memory, "FILE", "Remote memory JSON");
  add("--astra-comm-group,--comm-group-configuration", options.comm_group, "FILE",
      "Communicator groups JSON");
  add("--num-queues-per-dim", arguments.queues, "N", "Queues per dimension");
  add("--injection-scale", arguments.injection_scale, "X", "Multiplies the endpoint delay");
  add("--rendezvous-protocol", arguments.rendezvous, "BOOL", "Messages wait for the receiver's word");
  add("--comm-scale", arguments.comm_scale, "X", "Taken; without effect, as there");
  add("--compute-scale", arguments.compute_scale, "X", "Taken; without effect, as there");
  add("--logging-configuration", arguments.logging, "FILE", "Taken; nothing is logged");
  add("--logging-folder", arguments.logging, "FOLDER", "Taken; nothing is logged");
}

bool has_astra_files(const AstraArguments& arguments) {
  const app::AstraReplayOptions& options = arguments.options;
  return !options.workload.empty() || !options.system.empty() || !options.network.empty() ||
         !options.memory.empty() || !options.comm_group.empty();
}

app::AstraReplayOptions read_astra_arguments(const AstraArguments& arguments) {
  app::AstraReplayOptions options = arguments.options;
  const auto need = [](const std::string& value, const char* option) {
    if (!value.empty()) return;
    throw InputError{fmt::format("{}: ASTRA-sim's files come together; expected this one too", option)};
  };
  need(options.workload, "--astra-workload");
  need(options.system, "--astra-system");
  need(options.network, "--astra-network");
  const std::int64_t queues = read_integer("--num-queues-per-dim", arguments.queues);
  constexpr std::int64_t kMost = 1024;
  if (queues < 1 || queues > kMost) {
    throw InputError{fmt::format("--num-queues-per-dim: '{}': expected 1 to {}", arguments.queues, kMost)};
  }
  options.queues_per_dim = static_cast<std::uint32_t>(queues);
  options.injection_scale = read_scale("--injection-scale", arguments.injection_scale);
  options.comm_scale = read_scale("--comm-scale", arguments.comm_scale);
  options.compute_scale = read_scale("--compute-scale", arguments.compute_scale);
  options.is_rendezvous = read_truth("--rendezvous-protocol", arguments.rendezvous);
  return options;
}

std::string format_astra(const app::AstraComparison& comparison) {
  const astra::Outcome& outcome = comparison.astra.outcome;
  std::string text = fmt::format("{} cycles (ns) for {} as ASTRA-sim counts ({})\n\n", outcome.cycles,
                                 comparison.astra.workload, comparison.astra.network_model);
  std::vector<std::vector<std::string>> rows;
  const std::size_t shown = std::min(outcome.ranks.size(), kRanksShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const astra::RankTimes& times = outcome.ranks[i];
    rows.push_back({fmt::format("{}", i), fmt::format("{}", times.cycles),
                    fmt::format("{}", times.exposed_cycles), fmt::format("{}", times.gpu_cycles),
                    fmt::format("{}", times.overlap_cycles)});
  }
  text += format_table({"rank", "cycles", "exposed", "gpu", "overlap"}, rows);
  if (shown < outcome.ranks.size()) {
    text += fmt::format("  ... and {} more ranks\n", outcome.ranks.size() - shown);
  }
  for (const std::string& warning : outcome.warnings) text += fmt::format("warning: {}\n", warning);
  if (!comparison.native) return text;
  const double there = static_cast<double>(outcome.cycles) * 1000;
  const auto here = static_cast<double>(comparison.native->total_ps);
  const std::string ratio = there > 0 ? fmt::format(", {:.3f} times that", here / there) : std::string{};
  return text +
         fmt::format("\nOn the real graph with the {} network: {}{}\n\n", comparison.native->network,
                     duration_text(Duration{comparison.native->total_ps}), ratio) +
         format_replay(*comparison.native);
}

}  // namespace orrery::cli
