// SPDX-License-Identifier: Apache-2.0
#include "orrery/cli/explain_text.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/text.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/quantities.hpp"

namespace orrery::cli {
namespace {

using app::ExplainResult;
using app::ExposedSite;
using app::ExposedTime;
using app::OverlapSite;

std::string more(std::size_t shown, std::size_t all, const char* what) {
  return shown < all ? fmt::format("  ... and {} more {}\n", all - shown, what) : std::string{};
}

/// With a digit, since what can be saved is often little.
std::string fine_share(std::int64_t part, std::int64_t total) {
  return total == 0 ? std::string{"0 %"}
                    : fmt::format("{:.1f} %", 100.0 * static_cast<double>(part) / static_cast<double>(total));
}

std::string path_table(const ExplainResult& result) {
  std::vector<std::vector<std::string>> rows;
  const std::vector<app::PathShare>& sites = result.path.sites;
  const std::size_t shown = std::min(sites.size(), result.shown);
  for (std::size_t i = 0; i < shown; ++i) {
    rows.push_back({std::string{app::to_text(sites[i].kind)}, sites[i].site,
                    fmt::format("{}", sites[i].steps), duration_text(sites[i].time),
                    fine_share(count_ps(sites[i].time), result.total_ps)});
  }
  std::vector<std::string> kinds;
  for (const app::PathShare& kind : result.path.kinds) {
    kinds.push_back(fmt::format("{} {} ({})", app::to_text(kind.kind), duration_text(kind.time),
                                fine_share(count_ps(kind.time), result.total_ps)));
  }
  return fmt::format("critical path: {}\n", join(kinds, ", ")) +
         format_table({"<kind", "<on the critical path", "steps", "time", "share"}, rows) +
         more(shown, sites.size(), "sites");
}

std::string exposed_table(const ExplainResult& result) {
  std::vector<std::vector<std::string>> rows;
  const std::size_t shown = std::min(result.exposed.size(), result.shown);
  for (std::size_t i = 0; i < shown; ++i) {
    const ExposedSite& site = result.exposed[i];
    const Duration mean = site.mean(&ExposedTime::waiting) + site.mean(&ExposedTime::transfer);
    rows.push_back({result.sites[site.site], fmt::format("{}", site.calls),
                    fmt::format("{}", site.worst_rank), duration_text(site.worst.exposed()),
                    fine_share(count_ps(site.worst.exposed()), result.total_ps),
                    duration_text(site.worst.waiting), duration_text(site.worst.transfer),
                    duration_text(mean), duration_text(site.mean(&ExposedTime::hidden))});
  }
  return format_table({"<communication", "calls", "worst rank", "exposed", "share", "of it waiting",
                       "of it transfer", "mean exposed", "mean hidden"},
                      rows) +
         more(shown, result.exposed.size(), "sites");
}

std::string work_text(const OverlapSite& site) {
  if (site.work.empty() || site.work.front().what.empty()) return "what does not need it";
  const std::string& first = site.work.front().what;
  return site.work.size() == 1 ? first : fmt::format("{} and {} more", first, site.work.size() - 1);
}

/// One line for each site that can be helped, or might be.
std::string advice(const OverlapSite& site, const ExplainResult& result) {
  const std::string& name = result.sites[site.site];
  const std::int64_t at_most = site.at_most_ps.value_or(0);
  if (site.reason.empty()) {
    const std::int64_t saved = result.total_ps - *site.total_ps;
    const std::string again =
        site.again == Duration{} ? std::string{} : fmt::format(", {} more work", duration_text(site.again));
    return fmt::format("  {}: start it (async_op=True), compute {} ({}{}), then wait: saves {} ({})\n", name,
                       work_text(site), duration_text(site.independent), again,
                       duration_text(Duration{saved}), fine_share(saved, result.total_ps));
  }
  if (at_most == 0) return {};
  return fmt::format("  {}: at most {} ({}) could be saved; {}\n", name, duration_text(Duration{at_most}),
                     fine_share(at_most, result.total_ps), site.reason);
}

std::string overlap_text(const ExplainResult& result) {
  const app::Overlap& overlap = result.overlap;
  std::string lines;
  std::size_t shown = 0;
  std::size_t helped = 0;
  std::size_t failed = 0;
  for (const OverlapSite& site : overlap.sites) {
    if (site.reason.empty()) ++helped;
    if (site.reason.starts_with("cannot be moved")) ++failed;
    const std::string line = advice(site, result);
    if (line.empty() || shown == result.shown) continue;
    lines += line;
    ++shown;
  }
  std::string text = "overlap:\n";
  if (lines.empty()) text += "  no gain: no communication could be hidden behind computing that follows it\n";
  text += lines;
  if (helped > 1 && overlap.together_ps) {
    const std::int64_t saved = result.total_ps - *overlap.together_ps;
    text += fmt::format(
        "  all of them together: {} instead of {}, saves {} ({})\n",
        duration_text(Duration{*overlap.together_ps}), duration_text(Duration{result.total_ps}),
        duration_text(Duration{std::max<std::int64_t>(saved, 0)}), fine_share(saved, result.total_ps));
  }
  if (failed > 0) text += fmt::format("  {} cannot be moved; --json says why\n", failed);
  if (!overlap.has_dataflow && !lines.empty()) {
    text += "  'orrery run --capture DIR --dataflow' finds the computing that can hide it\n";
  }
  return text;
}

}  // namespace

std::string format_explain(const ExplainResult& result) {
  std::string text = fmt::format("{} for {} on {} ({} network, {} collectives, compute {})\n\n",
                                 duration_text(Duration{result.total_ps}), result.workload, result.cluster,
                                 result.network, result.algorithm, result.compute);
  if (!result.path.sites.empty()) text += path_table(result) + "\n";
  if (!result.exposed.empty()) text += exposed_table(result) + "\n";
  text += overlap_text(result);
  text += fmt::format("\n{} operations in {:.2f} s of wall time; digest {:016x}\n", result.operations,
                      result.wall_seconds, result.manifest.digest);
  for (const std::string& note : result.notes) text += fmt::format("note: {}\n", note);
  if (!result.files.empty()) text += fmt::format("written: {}\n", join(result.files, ", "));
  return text;
}

}  // namespace orrery::cli
