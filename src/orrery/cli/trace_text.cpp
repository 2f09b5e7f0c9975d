// SPDX-License-Identifier: Apache-2.0
#include "orrery/cli/trace_text.hpp"

#include <fmt/format.h>

#include <limits>

#include "orrery/base/text.hpp"
#include "orrery/cli/console.hpp"

namespace orrery::cli {
namespace {

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", count, noun, count == 1 ? "" : "s");
}

using app::TraceInfo;
using app::TraceRank;
using app::TraceSums;
using app::Traffic;
using app::WideSum;

std::string count_text(const WideSum& sum) {
  return sum.fits() ? fmt::format("{}", sum.low()) : fmt::format("{:.6g}", sum.to_double());
}

std::string bytes_text(const WideSum& sum) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!sum.fits() || sum.low() > kMost) return fmt::format("{:.6g}B", sum.to_double());
  return to_text(Bytes{static_cast<std::int64_t>(sum.low())});
}

std::string time_text(const WideSum& sum) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (!sum.fits() || sum.low() > kMost) return fmt::format("{:.6g}s", sum.to_double() / 1e12);
  return to_text(Duration{static_cast<std::int64_t>(sum.low())});
}

WideSum collective_bytes(const TraceSums& sums) {
  WideSum bytes;
  for (const auto& [name, traffic] : sums.collectives) bytes += traffic.bytes;
  return bytes;
}

bool looks_like(const TraceRank& a, const TraceRank& b) {
  return a.sums == b.sums && a.path.time == b.path.time && a.path.flops == b.path.flops &&
         a.path.ops == b.path.ops && a.is_path_exact == b.is_path_exact && a.stuck == b.stuck;
}

std::vector<std::string> rank_row(const std::string& ranks, const TraceRank& rank) {
  const TraceSums& sums = rank.sums;
  const std::string bound = rank.is_path_exact && rank.stuck == 0 ? "" : ">=";
  return {ranks,
          fmt::format("{}", sums.nodes),
          count_text(sums.flops),
          time_text(sums.compute_ps),
          bytes_text(collective_bytes(sums)),
          bytes_text(sums.sends.bytes),
          bytes_text(sums.receives.bytes),
          bound + to_text(rank.path.time),
          fmt::format("{}{}", bound, rank.path.ops)};
}

/// One row per run of ranks that look the same.
std::string rank_table(const TraceInfo& info) {
  std::vector<std::vector<std::string>> rows;
  for (std::size_t first = 0; first < info.ranks.size();) {
    std::size_t last = first;
    while (last + 1 < info.ranks.size() && looks_like(info.ranks[first], info.ranks[last + 1])) ++last;
    const std::string ranks = first == last
                                  ? fmt::format("{}", info.ranks[first].rank)
                                  : fmt::format("{}-{}", info.ranks[first].rank, info.ranks[last].rank);
    rows.push_back(rank_row(ranks, info.ranks[first]));
    first = last + 1;
  }
  return format_table(
      {"<rank", "nodes", "FLOPs", "compute", "collectives", "sent", "received", "critical path", "its nodes"},
      rows);
}

void add_traffic(std::vector<std::vector<std::string>>& rows, const std::string& name,
                 const Traffic& traffic) {
  if (traffic.count == 0) return;
  rows.push_back({name, fmt::format("{}", traffic.count), bytes_text(traffic.bytes)});
}

std::string traffic_table(const TraceSums& totals) {
  std::vector<std::vector<std::string>> rows;
  for (const auto& [name, traffic] : totals.collectives) add_traffic(rows, name, traffic);
  add_traffic(rows, "send", totals.sends);
  add_traffic(rows, "receive", totals.receives);
  add_traffic(rows, "memory load", totals.loads);
  add_traffic(rows, "memory store", totals.stores);
  return rows.empty() ? std::string{} : "\n" + format_table({"<transfer", "nodes", "bytes"}, rows);
}

}  // namespace

std::string info_text(const TraceInfo& info) {
  const TraceSums& totals = info.totals;
  std::string text =
      fmt::format("{}: {}, {}, {} dependencies\n", info.name, counted(info.ranks.size(), "rank"),
                  counted(totals.nodes, "node"), totals.dependencies);
  for (const auto& [type, nodes] : totals.types) text += fmt::format("  {:<18} {}\n", type, nodes);
  text += fmt::format("  {:<18} {}\n  {:<18} {} on devices, {} on hosts\n", "FLOPs", count_text(totals.flops),
                      "recorded compute", time_text(totals.compute_ps), time_text(totals.host_ps));
  if (!info.groups.empty()) text += fmt::format("  {:<18} {}\n", "process groups", info.groups.size());
  text += traffic_table(totals) + "\n" + rank_table(info);
  for (const TraceRank& rank : info.ranks) {
    if (rank.stuck == 0) continue;
    text +=
        fmt::format("\n{} nodes of rank {} wait for nodes that never come: 'orrery trace check' names them\n",
                    rank.stuck, rank.rank);
    break;
  }
  for (const std::string& warning : info.warnings) text += fmt::format("warning: {}\n", warning);
  return text;
}

std::string check_text(const app::TraceCheck& check) {
  std::string text;
  for (const app::TraceProblem& problem : check.problems.listed()) {
    text += fmt::format("{}: {}\n", to_text(problem.kind), problem.message);
  }
  const std::uint64_t count = check.problems.count();
  if (count > check.problems.listed().size()) {
    text += fmt::format("... and {} more\n", count - check.problems.listed().size());
  }
  text +=
      fmt::format("{}: {}: {}, {}", check.name, count == 0 ? std::string{"ok"} : counted(count, "problem"),
                  counted(check.ranks, "rank"), counted(check.nodes, "node"));
  if (check.is_single) return text + " (one file: what other ranks do was not checked)\n";
  return text + fmt::format(", {} messages and {} collectives agree\n", check.messages, check.collectives);
}

}  // namespace orrery::cli
