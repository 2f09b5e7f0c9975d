// SPDX-License-Identifier: Apache-2.0
#include "orrery/cli/run_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "orrery/base/text.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/quantities.hpp"

namespace orrery::cli {
namespace {

constexpr std::size_t kRanksShown = 16;
constexpr std::size_t kOperationsShown = 8;

std::string ranks_table(const app::LiveResult& result) {
  std::vector<std::vector<std::string>> rows;
  const std::size_t shown = std::min(result.ranks.size(), kRanksShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const app::LiveRank& rank = result.ranks[i];
    const live::RankTimes& times = rank.times;
    rows.push_back(
        {fmt::format("{}", i), rank.node,
         times.has_crashed          ? std::string{"crashed"}
         : times.finish == kTimeMax ? std::string{"never"}
                                    : duration_text(times.finish.time_since_epoch()),
         fmt::format("{} ({})", duration_text(times.compute), share_text(times.compute, result.total_ps)),
         fmt::format("{} ({})", duration_text(times.communication),
                     share_text(times.communication, result.total_ps)),
         fmt::format("{} ({})", duration_text(times.waiting), share_text(times.waiting, result.total_ps)),
         duration_text(times.sleeping), bytes_text(times.bytes)});
  }
  std::string text =
      format_table({"rank", "<on", "finish", "compute", "communication", "waiting", "asleep", "bytes"}, rows);
  if (shown < result.ranks.size()) {
    text += fmt::format("  ... and {} more ranks\n", result.ranks.size() - shown);
  }
  return text;
}

std::string operations_table(const app::LiveResult& result) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < std::min(result.operations.size(), kOperationsShown); ++i) {
    const app::OperationTotal& total = result.operations[i];
    const auto calls = static_cast<std::int64_t>(total.calls);
    rows.push_back({total.name, fmt::format("{}", total.calls), bytes_text(total.bytes / calls),
                    duration_text(total.time / calls), duration_text(total.waiting / calls)});
  }
  return format_table({"<operation", "calls", "bytes each", "time each", "waiting each"}, rows);
}

/// Of the rank that has had most on its device; "" when none has had anything.
std::string memory_line(const app::LiveResult& result) {
  std::size_t most = 0;
  const auto peak = [&](std::size_t rank) {
    const auto& memory = result.ranks[rank].device_memory;
    return memory ? memory->peak : 0;
  };
  for (std::size_t i = 1; i < result.ranks.size(); ++i) {
    if (peak(i) > peak(most)) most = i;
  }
  if (result.ranks.empty() || peak(most) == 0) return {};
  const app::LiveRank& rank = result.ranks[most];
  const std::string limit = rank.device_bytes > 0 ? " of " + bytes_text(rank.device_bytes) : std::string{};
  const orrery_memory& memory = *rank.device_memory;
  return fmt::format(
      "device memory: peak {}{} on rank {}: parameters {}, gradients {}, optimizer {}, activations {}, other "
      "{}\n",
      bytes_text(memory.peak), limit, most, bytes_text(memory.parameters), bytes_text(memory.gradients),
      bytes_text(memory.optimizer), bytes_text(memory.activations), bytes_text(memory.other));
}

}  // namespace

std::string format_run_tables(const app::LiveResult& result) {
  std::string text = ranks_table(result);
  if (!result.operations.empty()) text += "\n" + operations_table(result);
  return text;
}

std::string format_run(const app::LiveResult& result, const std::string& folder) {
  std::string text = fmt::format("\n{} on {} ({} network, {} collectives, compute {})\n\n",
                                 duration_text(Duration{result.total_ps}), result.cluster, result.network,
                                 result.algorithm, result.compute);
  text += format_run_tables(result);
  text += fmt::format("\n{} crossed the network; {:.1f} s of wall time", bytes_text(result.wire_bytes),
                      result.wall_seconds);
  if (result.memory_bytes > 0) text += fmt::format(", at most {} of memory", bytes_text(result.memory_bytes));
  text += fmt::format("; digest {:016x}\n", result.manifest.digest);
  text += memory_line(result);
  for (const std::string& note : result.notes) text += fmt::format("note: {}\n", note);
  if (!folder.empty()) {
    text += fmt::format(
        "{0}/: result.json, events.csv, ledger/, timeline.json.gz (drop it on https://ui.perfetto.dev)\n",
        folder);
  }
  return text;
}

RunProgress::RunProgress(bool is_quiet)
    : is_quiet_{is_quiet || ::isatty(STDERR_FILENO) == 0}, began_{std::chrono::steady_clock::now()} {}

void RunProgress::update(const app::LiveProgress& progress) {
  if (is_quiet_) return;
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  print_error(fmt::format(
      "\r\033[Korrery: {} simulated, {:.0f} s wall; {} computing, {} communicating, {} of {} done",
      duration_text(progress.now.time_since_epoch()), wall, progress.computing, progress.communicating,
      progress.done, progress.ranks));
  is_shown_ = true;
}

void RunProgress::clear() {
  if (is_shown_) print_error("\r\033[K");
  is_shown_ = false;
}

}  // namespace orrery::cli
