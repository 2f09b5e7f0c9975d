// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/compare.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <memory>

#include "orrery/base/output_file.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/quantities.hpp"
#include "orrery/cli/session.hpp"

namespace orrery::cli {
namespace {

constexpr const char* kExamples = R"(A and B are folders that 'orrery run --out' wrote, simulated or --real.

Examples:
  orrery run -n 2 --cluster lan.yaml --warmup barrier:1 --out predicted train.py
  orrery run --real -n 2 --link 1Gbps --repeat 10 --warmup barrier:1 --out measured train.py
  orrery compare predicted measured
      the error of the prediction, with its interval, and the operations that make it
  orrery compare measured-before measured-after --svg difference.svg
      two real runs; the p-value says whether they differ at all)";

struct Arguments {
  std::string a;
  std::string b;
  std::string svg;
  bool is_json = false;
};

std::string time_text(double picoseconds) {
  return duration_text(Duration{static_cast<std::int64_t>(std::llround(picoseconds))});
}

/// Of a rank in the mean: mostly a whole number.
std::string calls_text(double calls) { return fmt::format("{:.{}f}", calls, calls == std::floor(calls) ? 0 : 2); }

std::string percent(double ratio) { return fmt::format("{:+.1f} %", ratio * 100); }

std::vector<std::string> row_of(const app::Difference& one) {
  if (one.b == 0) return {one.name, time_text(one.a), time_text(one.b), "", "", ""};
  return {one.name,
          time_text(one.a),
          time_text(one.b),
          percent(one.relative),
          one.relative_interval ? fmt::format("{} .. {}", percent(one.relative_interval->low),
                                              percent(one.relative_interval->high))
                                : "",
          one.p_value ? fmt::format("{:.2g}", *one.p_value) : ""};
}

std::string describe(const char* letter, const app::ComparedRun& run) {
  return fmt::format("{}: {} ({} on {}, {} run{})\n", letter, run.name, run.kind, run.cluster,
                     run.samples.size(), run.samples.size() == 1 ? "" : "s");
}

std::string format_comparison(const app::Comparison& comparison) {
  std::string text = describe("A", comparison.a) + describe("B", comparison.b);
  for (const std::string& note : comparison.notes) text += fmt::format("note: {}\n", note);
  text += "\n";
  std::vector<std::vector<std::string>> rows;
  for (const app::Difference& one : comparison.figures) rows.push_back(row_of(one));
  for (std::size_t rank = 0; rank < comparison.ranks.size() && comparison.ranks.size() <= 8; ++rank) {
    for (const app::Difference& one : comparison.ranks[rank]) {
      if (one.name != "compute" && one.name != "communication") continue;
      rows.push_back(row_of(one));
      rows.back()[0] = fmt::format("  rank {} {}", rank, one.name);
    }
  }
  text += format_table({"<", "A", "B", "A against B", "95 % interval", "p"}, rows);
  if (comparison.operations.empty()) return text;
  rows.clear();
  constexpr std::size_t kShown = 10;
  for (const app::ComparedOperation& one : comparison.operations) {
    if (rows.size() == kShown) break;
    rows.push_back(
        {one.time.name, calls_text(one.a_calls), calls_text(one.b_calls),
         time_text(one.time.a), time_text(one.time.b), one.time.b == 0 ? "" : percent(one.time.relative),
         fmt::format("{:.0f} %", one.share * 100), time_text(one.waiting.a), time_text(one.waiting.b)});
  }
  return text + "\n" +
         format_table({"<operation, per rank", "calls A", "B", "time A", "B", "A against B",
                       "of the difference", "waiting A", "B"},
                      rows);
}

void run(const Arguments& arguments) {
  const app::Comparison comparison = app::compare_runs(arguments.a, arguments.b);
  if (!arguments.svg.empty()) {
    OutputFile file{arguments.svg};
    file.write(app::to_svg(comparison));
    file.commit();
  }
  print(arguments.is_json ? app::to_json(comparison) : format_comparison(comparison));
}

}  // namespace

void add_compare(CLI::App& root, Session& session) {
  CLI::App* command = root.add_subcommand("compare", "Two results of 'orrery run', simulated or real.");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("a", arguments->a, "Folder of results")->required()->type_name("A");
  command->add_option("b", arguments->b, "Folder of results to compare it with")->required()->type_name("B");
  command->add_option("--svg", arguments->svg, "Also draw it")->type_name("FILE");
  command->add_flag("--json", arguments->is_json, "Print JSON and nothing else");
  command->footer(kExamples);
  command->callback([arguments, &session] { session.action = [arguments] { run(*arguments); }; });
}

}  // namespace orrery::cli
