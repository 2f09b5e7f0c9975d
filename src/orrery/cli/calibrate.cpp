// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/calibrate.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "orrery/cli/console.hpp"
#include "orrery/cli/run_text.hpp"
#include "orrery/cli/session.hpp"

namespace orrery::cli {
namespace {

constexpr const char* kExamples = R"(Examples:
  orrery calibrate collectives -o loopback.yaml
      everything gloo does between two processes of this host, as a cluster file; five launches of a minute
  orrery calibrate collectives --link 1Gbps -o lan.yaml --svg lan.svg
      with a gigabit link between them (root), and a picture of the fit
  orrery calibrate network --json
      messages and broadcasts alone: latency, bandwidth, cost per message
  orrery calibrate host -n 2
      how much slower computing is when two ranks compute at once
  mkdir records; orrery calibrate collectives --repeat 1 --keep records/1
  orrery calibrate collectives --from records -o loopback.yaml
      launches at different times, as a host's speed drifts; then one fit of all
  orrery calibrate collectives --link 1Gbps --plan plan.json
  torchrun ... -m orrery.record --out records -m orrery.live.probe plan.json
  orrery calibrate collectives --link 1Gbps --from records --elsewhere -o lan.yaml
      other hosts that such links join
  orrery run -n 2 --cluster lan.yaml train.py)";

struct Arguments {
  app::CalibrateOptions options;
  std::string ranks = "2";
  std::string repeat = "5";
  bool is_json = false;
  bool is_quiet = false;
};

std::string format_calibration(const app::Calibration& result, const std::string& path) {
  std::vector<std::vector<std::string>> rows;
  for (const app::CalibratedValue& value : result.values) rows.push_back({value.name, value.text});
  std::string text = format_table({"<value", result.name}, rows);
  rows.clear();
  for (const auto& [kernel, factor] : result.slowdown) {
    rows.push_back({kernel, fmt::format("{:.3f}", factor)});
  }
  if (!rows.empty()) text += "\n" + format_table({"<computing", "real ranks / one alone"}, rows);
  if (!result.points.empty()) {
    text += fmt::format("\nmedian error {:.1f} % of fitted points, {:.1f} % of other sizes\n",
                        result.fitted_error * 100, result.held_out_error * 100);
  }
  for (const std::string& note : result.notes) text += fmt::format("note: {}\n", note);
  if (!path.empty()) {
    text += fmt::format("{}: the cluster, with every measured point in its comments\n", path);
  }
  return text;
}

void run(Arguments& arguments, Session& session) {
  app::CalibrateOptions& options = arguments.options;
  options.ranks = read_integer("--ranks", arguments.ranks);
  options.repeat = read_integer("--repeat", arguments.repeat);
  app::LiveOptions live;
  set_live_defaults(live, session);
  options.launch = live.launch;
  options.command = session.words;
  options.option_prefix = "--";
  options.wants_stop = was_interrupted;
  if (!arguments.is_quiet && !arguments.is_json) options.say = live.say;
  const app::Calibration result = app::calibrate(options);
  for (const std::string& path : {options.plan, options.keep}) {
    if (!path.empty()) return print(arguments.is_json ? "{}\n" : fmt::format("written: {}\n", path));
  }
  print(arguments.is_json ? app::to_json(result) : format_calibration(result, options.output));
}

}  // namespace

void add_calibrate(CLI::App& root, Session& session) {
  CLI::App* command =
      root.add_subcommand("calibrate", "Measure this host, and write the cluster that behaves like it.");
  const auto arguments = std::make_shared<Arguments>();
  app::CalibrateOptions& options = arguments->options;
  command->add_option("what", options.what, "network, collectives or host")->required()->type_name("WHAT");
  command->add_option("-n,--ranks", arguments->ranks, "Ranks to measure with")->capture_default_str();
  command->add_option("--repeat", arguments->repeat, "Launches; their trimmed mean counts")->capture_default_str();
  command->add_option("--link", options.link, "A link between the ranks, as of 'orrery run --real' (root)");
  command->add_option("-o,--out", options.output, "Cluster file to write")->type_name("FILE");
  command->add_option("--svg", options.picture, "Picture of measured and simulated times")->type_name("FILE");
  command->add_option("--keep", options.keep, "Folder for what is measured, to be fitted later")->type_name("FOLDER");
  command->add_option("--from", options.from, "Fit what was kept there, all launches of it, or other hosts' recordings")
      ->type_name("FOLDER");
  command->add_option("--plan", options.plan, "File for what is to be measured, for other hosts")->type_name("FILE");
  command->add_flag("--elsewhere", options.is_elsewhere, "--from is of other hosts: leave computing alone");
  command->add_flag("--json", arguments->is_json, "Print JSON and nothing else");
  command->add_flag("-q,--quiet", arguments->is_quiet, "No progress");
  command->footer(kExamples);
  command->callback(
      [arguments, &session] { session.action = [arguments, &session] { run(*arguments, session); }; });
}

}  // namespace orrery::cli
