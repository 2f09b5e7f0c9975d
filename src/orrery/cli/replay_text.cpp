// SPDX-License-Identifier: Apache-2.0
#include "orrery/cli/replay_text.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>

#include "orrery/base/text.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/quantities.hpp"

namespace orrery::cli {
namespace {

constexpr std::size_t kRanksShown = 16;
constexpr std::size_t kCollectivesShown = 8;
constexpr std::size_t kLinksShown = 5;

std::string more(std::size_t shown, std::size_t all, const char* what) {
  return shown < all ? fmt::format("  ... and {} more {}\n", all - shown, what) : std::string{};
}

std::string ranks_table(const app::ReplayResult& result) {
  std::vector<std::vector<std::string>> rows;
  const std::size_t shown = std::min(result.ranks.size(), kRanksShown);
  const bool has_memory =
      std::ranges::any_of(result.ranks, [](const app::ReplayRank& rank) { return !rank.memory.empty(); });
  const auto part = [&](Duration time) {
    return fmt::format("{} ({})", duration_text(time), share_text(time, result.total_ps));
  };
  for (std::size_t i = 0; i < shown; ++i) {
    const app::ReplayRank& rank = result.ranks[i];
    const workload::RankTimes& times = rank.times;
    rows.push_back({fmt::format("{}", i), rank.node, duration_text(times.finish.time_since_epoch()),
                    part(times.compute), part(times.exposed_communication), part(times.waiting),
                    part(times.overlap), bytes_text(times.bytes)});
    if (has_memory) rows.back().push_back(bytes_text(app::peak_memory(rank).bytes.count()));
  }
  std::vector<std::string> heads{"rank",          "<on",     "finish", "compute", "exposed comm.",
                                 "of it waiting", "overlap", "bytes"};
  if (has_memory) heads.emplace_back("peak memory");
  return format_table(heads, rows) + more(shown, result.ranks.size(), "ranks");
}

/// Collectives that differ in the group alone: a thousand ranks have hundreds of groups that do the same.
struct Kind {
  workload::CollectiveTotal total;
  std::size_t groups = 0;
};

std::vector<Kind> merge_groups(const std::vector<workload::CollectiveTotal>& totals) {
  std::vector<Kind> kinds;
  for (const workload::CollectiveTotal& total : totals) {
    const auto is_same = [&](const Kind& kind) {
      return kind.total.operation == total.operation && kind.total.algorithm == total.algorithm &&
             kind.total.ranks == total.ranks && kind.total.size == total.size;
    };
    const auto found = std::ranges::find_if(kinds, is_same);
    if (found == kinds.end()) {
      kinds.push_back({total, 1});
      continue;
    }
    ++found->groups;
    found->total.calls += total.calls;
    found->total.time += total.time;
    found->total.waiting += total.waiting;
  }
  std::ranges::stable_sort(kinds, std::greater{}, [](const Kind& kind) { return kind.total.time; });
  return kinds;
}

std::string collectives_table(const app::ReplayResult& result) {
  std::vector<std::vector<std::string>> rows;
  const std::vector<Kind> kinds = merge_groups(result.collectives);
  const std::size_t shown = std::min(kinds.size(), kCollectivesShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const workload::CollectiveTotal& total = kinds[i].total;
    const auto calls = static_cast<std::int64_t>(total.calls);
    const std::string group = total.group.empty() ? "all" : total.group;
    rows.push_back({total.operation, kinds[i].groups == 1 ? group : fmt::format("{} groups", kinds[i].groups),
                    fmt::format("{}", total.ranks), total.algorithm, fmt::format("{}", total.calls),
                    bytes_text(total.size.count()), duration_text(total.time / calls),
                    duration_text(total.waiting / calls)});
  }
  return format_table(
             {"<collective", "<group", "ranks", "<algorithm", "calls", "size", "time each", "waiting each"},
             rows) +
         more(shown, kinds.size(), "kinds");
}

std::string links_table(const app::ReplayResult& result) {
  std::vector<std::vector<std::string>> rows;
  const bool has_packets = result.links.front().packets > 0;
  const std::size_t shown = std::min(result.links.size(), kLinksShown);
  for (std::size_t i = 0; i < shown; ++i) {
    const app::ReplayLink& link = result.links[i];
    rows.push_back({link.name, bytes_text(link.bytes), fmt::format("{:.1f} %", 100 * link.utilization)});
    if (!has_packets) continue;
    rows.back().push_back(bytes_text(link.longest_queue_bytes));
    rows.back().push_back(fmt::format("{}", link.drops));
  }
  std::vector<std::string> heads{"<busiest link", "bytes", "used"};
  if (has_packets) heads.insert(heads.end(), {"longest queue", "drops"});
  return format_table(heads, rows) + more(shown, result.links.size(), "links");
}

}  // namespace

std::string format_replay(const app::ReplayResult& result) {
  std::string text = fmt::format("{} for {} on {} ({} network, {} collectives, compute {})\n\n",
                                 duration_text(Duration{result.total_ps}), result.workload, result.cluster,
                                 result.network, result.algorithm, result.compute);
  text += ranks_table(result);
  if (!result.collectives.empty()) text += "\n" + collectives_table(result);
  if (!result.links.empty()) text += "\n" + links_table(result);
  text += fmt::format("\n{} operations in {:.2f} s of wall time; digest {:016x}\n", result.operations,
                      result.wall_seconds, result.manifest.digest);
  for (const std::string& note : result.notes) text += fmt::format("note: {}\n", note);
  if (!result.files.empty()) text += fmt::format("written: {}\n", join(result.files, ", "));
  return text;
}

ReplayProgressLine::ReplayProgressLine(bool is_quiet)
    : is_quiet_{is_quiet || ::isatty(STDERR_FILENO) == 0}, began_{std::chrono::steady_clock::now()} {}

ReplayProgressLine::~ReplayProgressLine() {
  if (is_shown_) print_error("\r\033[K");
}

void ReplayProgressLine::update(const app::ReplayProgress& progress) {
  if (is_quiet_) return;
  const double wall = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  print_error(fmt::format("\r\033[Korrery: {} simulated, {:.0f} s wall; {} operations, {} of {} ranks done",
                          duration_text(progress.now.time_since_epoch()), wall, progress.operations,
                          progress.ranks_done, progress.ranks));
  is_shown_ = true;
}

}  // namespace orrery::cli
