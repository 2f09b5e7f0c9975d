// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/real_records.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <numeric>

#include "orrery/app/live_records.hpp"
#include "orrery/app/operation_totals.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/base/text.hpp"
#include "orrery/version.hpp"

namespace orrery::app {
namespace {

namespace fs = std::filesystem;

void write_text(const std::string& path, std::string_view text) {
  OutputFile file{path};
  file.write(text);
  file.commit();
}

Time begin_of(const live::RealTimeline& launch) {
  Time begin{};
  for (const live::RankTimes& rank : launch.ranks) begin = std::max(begin, rank.begin);
  return begin;
}

std::vector<OperationTotal> totals_of(const live::RealTimeline& launch, Time from) {
  OperationTotals totals;
  totals.restart(from);
  for (const live::OperationRecord& record : launch.operations) totals.add(record);
  return totals.sorted();
}

LiveRepeat repeat_of(const live::RealTimeline& launch) {
  LiveRepeat repeat;
  const Time begin = begin_of(launch);
  for (const live::RankTimes& rank : launch.ranks) {
    repeat.total_ps = std::max(repeat.total_ps, count_ps(rank.finish) - count_ps(begin));
    repeat.ranks.push_back(rank);
  }
  repeat.operations = totals_of(launch, begin);
  return repeat;
}

/// The launch in the middle; of an even number the lower one.
std::size_t median_launch(const std::vector<LiveRepeat>& repeats) {
  std::vector<std::size_t> order(repeats.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t i) { return repeats[i].total_ps; });
  return order[(order.size() - 1) / 2];
}

}  // namespace

LiveResult real_result(const std::vector<live::RealTimeline>& launches, const RealOptions& options) {
  LiveResult result;
  result.kind = "real";
  result.cluster = options.link.empty() ? "this host, loopback" : "this host, links of " + options.link;
  result.network = "real";
  result.algorithm = "gloo";
  result.compute = "real";
  for (const live::RealTimeline& launch : launches) result.repeats.push_back(repeat_of(launch));
  result.median_repeat = median_launch(result.repeats);
  const live::RealTimeline& chosen = launches[result.median_repeat];
  result.begin_ps = count_ps(begin_of(chosen));
  result.total_ps = result.repeats[result.median_repeat].total_ps;
  for (std::size_t rank = 0; rank < chosen.ranks.size(); ++rank) {
    LiveRank& one = result.ranks.emplace_back();
    one.times = chosen.ranks[rank];
    one.node = "process";
    one.device = "this host";
  }
  if (!options.warmup.empty()) note_endless_warmup(result);
  result.operations = result.repeats[result.median_repeat].operations;
  if (chosen.clock_spread > Duration{}) {
    result.notes.push_back(fmt::format("hosts' clocks put together by collectives, within {}",
                                       orrery::to_text(chosen.clock_spread)));
  }
  result.manifest.version = kVersion;
  result.manifest.commit = commit();
  result.manifest.configuration = {{"program", join(options.launch.program, " ")},
                                   {"ranks", fmt::format("{}", chosen.ranks.size())},
                                   {"link", options.link},
                                   {"repeat", fmt::format("{}", launches.size())},
                                   {"warmup", options.warmup}};
  result.manifest.command = options.command;
  return result;
}

void write_real(const LiveResult& result, const std::vector<live::RealTimeline>& launches,
                const std::string& folder) {
  if (folder.empty()) return;
  const std::string temporary = fmt::format("{}.{}.tmp", folder, ::getpid());
  std::error_code problem;
  fs::create_directory(temporary, problem);
  if (problem) throw InputError{fmt::format("{}: cannot be made: {}", temporary, problem.message())};
  try {
    std::string events = timeline::to_comment_lines(result.manifest) + kEventColumns;
    for (const live::OperationRecord& record : launches[result.median_repeat].operations) {
      events += event_line(record);
    }
    write_text(temporary + "/result.json", to_json(result));
    write_text(temporary + "/events.csv", events);
    write_text(temporary + "/manifest.json", timeline::to_json(result.manifest).dump(2) + "\n");
    fs::remove(folder, problem);  // An empty one may stand there.
    fs::rename(temporary, folder);
  } catch (const fs::filesystem_error& error) {
    fs::remove_all(temporary, problem);
    throw InputError{fmt::format("{}: {}", folder, error.code().message())};
  } catch (...) {
    fs::remove_all(temporary, problem);
    throw;
  }
}

}  // namespace orrery::app
