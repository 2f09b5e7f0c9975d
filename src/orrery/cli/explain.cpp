// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/explain.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "orrery/cli/console.hpp"
#include "orrery/cli/explain_text.hpp"
#include "orrery/cli/session.hpp"

namespace orrery::cli {
namespace {

constexpr const char* kExamples =
    R"(CAPTURE is a folder that 'orrery run --capture' wrote, or any trace that 'orrery replay' takes.
Give the --network, --algorithm and --seed of the run to explain that run.

Examples:
  orrery run -n 4 --cluster jetson-lan --capture steps train.py
  orrery explain steps --cluster jetson-lan
      the critical path, what ranks wait for, and what could be overlapped
  orrery explain steps --cluster star:hosts=4,bandwidth=200Mbps,latency=100us
      the same program on a slower network
  orrery explain steps --cluster jetson-lan --json --all > why.json
      every step of the critical path, every site tried
  orrery explain make:model=llama-3-8b,tp=8 --cluster hgx-h100 --top 5)";

struct Arguments {
  app::ExplainOptions options;
  std::string top = "10";
  std::string seed = "0";
  bool is_json = false;
};

void run(Arguments& arguments) {
  app::ExplainOptions& options = arguments.options;
  options.top = read_integer("--top", arguments.top);
  options.replay.seed = read_seed(arguments.seed);
  options.replay.wants_stop = was_interrupted;
  const app::ExplainResult result = app::explain(options);
  print(arguments.is_json ? app::to_json(result) : format_explain(result));
}

}  // namespace

void add_explain(CLI::App& root, Session& session) {
  CLI::App* command = root.add_subcommand("explain", "Where the time goes, and what overlap would save.");
  const auto arguments = std::make_shared<Arguments>();
  app::ReplayOptions& replay = arguments->options.replay;
  replay.option_prefix = "--";
  replay.command = session.words;
  const auto add = [command](const char* name, std::string& value, const char* kind, const char* help) {
    CLI::Option* option = command->add_option(name, value, help)->type_name(kind);
    if (!value.empty()) option->capture_default_str();
  };
  add("capture", replay.trace, "CAPTURE", "Folder, prefix or file of execution traces, or make:...");
  add("--cluster", replay.cluster, "CLUSTER", "File, preset, or generator such as star:hosts=8,...");
  add("--network", replay.network, "MODEL",
      "Model, as flow:resolve_delay=1us (default: flow), or a YAML file");
  add("--algorithm", replay.algorithm, "NAME",
      "Of collectives: gloo, nccl, msccl:FILE, a name; or all_reduce=ring,all_gather=direct");
  add("--compute", replay.compute, "HOW",
      "recorded (default), recorded:TIME, roofline, fixed:TIME, table:FILE");
  add("--comm-group", replay.comm_group, "FILE", "Process groups: {\"1\": [0, 1], ...}");
  add("--streams", replay.streams, "COUNTS", "Of a rank: cpu=1,compute=1,comm=1,memory=1; all = no limit");
  add("--eager-limit", replay.eager_limit, "SIZE",
      "Messages up to this do not wait for their receive (default: 0)");
  add("--seed", arguments->seed, "N", "Of everything random");
  add("--top", arguments->top, "N", "Rows shown, steps of the path in JSON, and sites tried");
  add("-o,--out", arguments->options.output, "FILE", "Also write the JSON to this file");
  command->add_flag("--all", arguments->options.is_complete, "All rows and steps, and every site tried");
  command->add_flag("--lenient", replay.lenient, "InfraGraph files: follow upstream where it is looser");
  command->add_flag("--json", arguments->is_json, "Print JSON and nothing else");
  command->footer(kExamples);
  command->callback([arguments, &session] { session.action = [arguments] { run(*arguments); }; });
}

}  // namespace orrery::cli
