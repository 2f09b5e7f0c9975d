// SPDX-License-Identifier: Apache-2.0
#include "orrery/cli/collective_text.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <map>

#include "orrery/base/text.hpp"
#include "orrery/cli/console.hpp"

namespace orrery::cli {
namespace {

/// Four digits are enough to compare by eye; --json has every picosecond.
std::string digits(double value) {
  if (value >= 1000 || value == 0) return fmt::format("{:.0f}", value);
  if (value >= 100) return fmt::format("{:.1f}", value);
  if (value >= 10) return fmt::format("{:.2f}", value);
  return fmt::format("{:.3f}", value);
}

std::string microseconds(std::int64_t picoseconds) { return digits(static_cast<double>(picoseconds) * 1e-6); }

/// 16000000 is "16MB", 1048576 is "1MiB": whichever is shorter.
std::string size_text(std::int64_t bytes) {
  std::string text = to_text(Bytes{bytes});
  constexpr std::array<std::pair<std::int64_t, const char*>, 4> kDecimal{
      {{1'000, "kB"}, {1'000'000, "MB"}, {1'000'000'000, "GB"}, {1'000'000'000'000, "TB"}}};
  for (const auto& [factor, unit] : kDecimal) {
    if (bytes == 0 || bytes % factor != 0) continue;
    if (const std::string decimal = fmt::format("{}{}", bytes / factor, unit); decimal.size() < text.size()) {
      text = decimal;
    }
  }
  return text;
}

std::string bandwidth(const std::optional<double>& value) { return value ? digits(*value) : "-"; }

std::string setting(const app::CollectiveResult& result, std::string_view key) {
  const auto found =
      std::ranges::find(result.configuration, key, [](const auto& entry) { return entry.first; });
  return found == result.configuration.end() ? std::string{} : found->second;
}

std::string head(const app::CollectiveResult& result) {
  const app::CollectiveRow& first = result.rows.front();
  std::string text = fmt::format("# {}, {} rank{} of {}, {}\n", first.operation, first.ranks,
                                 first.ranks == 1 ? "" : "s", result.cluster, setting(result, "dtype"));
  text += fmt::format("# network {}\n", result.network);
  for (const std::string& warning : result.warnings) text += fmt::format("# warning: {}\n", warning);
  return text;
}

std::string tail(const app::CollectiveResult& result, bool has_rivals) {
  std::string text;
  if (has_rivals) text += "# * fastest of its size\n";
  std::map<std::string, bool> notes;
  for (const app::CollectiveRow& row : result.rows) {
    for (const std::string& note : row.notes) notes[note] = true;
  }
  for (const auto& [note, unused] : notes) text += fmt::format("# note: {}\n", note);
  if (!result.trace.empty()) text += fmt::format("# timeline of {}: {}\n", result.trace_note, result.trace);
  text += fmt::format("# digest {:016x}, seed {}\n", result.digest, result.seed);
  return text;
}

}  // namespace

std::string format_collective(const app::CollectiveResult& result) {
  std::map<std::int64_t, int> rivals;
  bool has_repeats = false;
  for (const app::CollectiveRow& row : result.rows) {
    ++rivals[row.size_bytes];
    has_repeats = has_repeats || row.time_ps != row.total_time_ps;
  }
  const bool has_packets =
      std::ranges::any_of(result.rows, [](const auto& row) { return row.packet_total.packets > 0; });
  const bool has_rivals = std::ranges::any_of(rivals, [](const auto& entry) { return entry.second > 1; });
  std::vector<std::string> heads{"size",       "<algorithm", "time_us", "algbw_GB/s",
                                 "busbw_GB/s", "messages",   "wire"};
  if (has_repeats) heads.insert(heads.begin() + 3, "total_us");
  if (has_packets) heads.insert(heads.end(), {"packets", "drops", "queue"});
  heads.push_back("<");
  std::vector<std::vector<std::string>> rows;
  for (const app::CollectiveRow& row : result.rows) {
    std::vector<std::string> cells{size_text(row.size_bytes), row.algorithm,
                                   microseconds(row.time_ps), bandwidth(row.algbw_gbps),
                                   bandwidth(row.busbw_gbps), fmt::format("{}", row.messages),
                                   size_text(row.wire_bytes)};
    if (has_repeats) cells.insert(cells.begin() + 3, microseconds(row.total_time_ps));
    if (has_packets) {
      cells.push_back(fmt::format("{}", row.packet_total.packets));
      cells.push_back(fmt::format("{}", row.packet_total.drops));
      cells.push_back(size_text(row.packet_total.longest_queue_bytes));
    }
    cells.push_back(row.is_best && rivals[row.size_bytes] > 1 ? "*" : "");
    rows.push_back(std::move(cells));
  }
  return head(result) + format_table(heads, rows) + tail(result, has_rivals);
}

}  // namespace orrery::cli
