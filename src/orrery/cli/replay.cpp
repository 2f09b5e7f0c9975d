// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/replay.hpp"

#include <CLI/CLI.hpp>
#include <memory>

#include "orrery/base/error.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/replay_arguments.hpp"
#include "orrery/cli/replay_text.hpp"
#include "orrery/cli/session.hpp"

namespace orrery::cli {
namespace {

constexpr const char* kExamples =
    R"(TRACE is a Chakra execution trace: the prefix of PREFIX.0.et, PREFIX.1.et, ..., their folder, or one file.
Or it is made up: make:model=llama-3-8b,tp=8,... as in 'orrery trace make'.

Examples:
  orrery replay traces/llama --cluster hgx-h100
  orrery replay traces/llama --cluster hgx-h100x4 --network packet --out run1
  orrery replay traces/ring --cluster torus:dims=4x4,bandwidth=100Gbps,latency=1us --algorithm ring --json
  orrery replay traces/dp8 --cluster fattree:k=8,bandwidth=100Gbps,latency=1us --ranks 64
      eight data-parallel replicas as 64
  orrery replay traces/llama --cluster hgx-h100 --compute roofline --streams comm=2
  orrery replay traces/llama --cluster hgx-h100 --trace timeline.json.gz
      a timeline for https://ui.perfetto.dev
  orrery replay --astra-workload w/all_reduce --astra-system s.json --astra-network n.yml
      ASTRA-sim's cycles; --network astra_aware for its other network, --network flow for shared links)";

struct Arguments {
  app::ReplayOptions options;
  AstraArguments astra;
  std::string ranks;
  std::string seed = "0";
  std::string window = "0";
  bool is_unfolded = false;
  bool is_json = false;
  bool is_quiet = false;
};

void run(Arguments& arguments) {
  app::ReplayOptions& options = arguments.options;
  if (!arguments.ranks.empty()) options.ranks = read_integer("--ranks", arguments.ranks);
  options.seed = read_seed(arguments.seed);
  options.window = read_integer("--window", arguments.window);
  options.folds = !arguments.is_unfolded;
  options.wants_stop = was_interrupted;
  if (has_astra_files(arguments.astra)) {
    if (!options.trace.empty() || !options.cluster.empty()) {
      throw InputError{
          "ASTRA-sim's files name the trace and the network: neither TRACE nor --cluster with them"};
    }
    options.astra = read_astra_arguments(arguments.astra);
    const app::AstraComparison comparison = app::compare_astra(options);
    return print(arguments.is_json ? app::to_json(comparison) : format_astra(comparison));
  }
  const app::ReplayResult result = [&] {
    ReplayProgressLine progress{arguments.is_quiet};  // Gone before anything is printed.
    options.on_progress = [&](const app::ReplayProgress& now) { progress.update(now); };
    return app::replay(options);
  }();
  print(arguments.is_json ? app::to_json(result) : format_replay(result));
}

}  // namespace

void add_replay(CLI::App& root, Session& session) {
  CLI::App* command = root.add_subcommand("replay", "Execution traces on any cluster.");
  const auto arguments = std::make_shared<Arguments>();
  app::ReplayOptions& options = arguments->options;
  options.option_prefix = "--";
  options.command = session.words;
  const auto add = [command](const char* name, std::string& value, const char* kind, const char* help) {
    CLI::Option* option = command->add_option(name, value, help)->type_name(kind);
    if (!value.empty()) option->capture_default_str();
  };
  add("trace", options.trace, "TRACE", "Prefix, folder or file of execution traces, or make:...");
  add("--cluster", options.cluster, "CLUSTER", "File, preset, or generator such as star:hosts=8,...");
  add("--network", options.network, "MODEL",
      "Model, as flow:resolve_delay=1us (default: flow), or a YAML file");
  add("--algorithm", options.algorithm, "NAME",
      "Of collectives: gloo, nccl, msccl:FILE, a name; or all_reduce=ring,all_gather=direct");
  add("--compute", options.compute, "HOW",
      "recorded (default), recorded:TIME, roofline, fixed:TIME, table:FILE");
  add("--ranks", arguments->ranks, "M", "Run the trace on so many ranks, where its pattern allows");
  add("--comm-group", options.comm_group, "FILE", "Process groups: {\"1\": [0, 1], ...}");
  add("--streams", options.streams, "COUNTS", "Of a rank: cpu=1,compute=1,comm=1,memory=1; all = no limit");
  add("--eager-limit", options.eager_limit, "SIZE",
      "Messages up to this do not wait for their receive (default: 0)");
  add("--window", arguments->window, "N", "Operations read ahead per rank, 0 = as memory allows");
  add("--seed", arguments->seed, "N", "Of everything random");
  add("--out", options.output, "FOLDER", "Folder for result.json, tables and timeline; must not exist");
  add("--trace", options.trace_file, "FILE", "Timeline (.json, .json.gz, .csv)");
  add("--csv", options.csv, "FILE", "Also write the table of ranks to this CSV file");
  add_astra_options(*command, arguments->astra);
  command->add_flag("--no-fold", arguments->is_unfolded,
                    "Simulate equal collectives again; never changes a time");
  command->add_flag("--lenient", options.lenient, "InfraGraph files: follow upstream where it is looser");
  command->add_flag("--json", arguments->is_json, "Print JSON and nothing else");
  command->add_flag("--quiet", arguments->is_quiet, "No progress");
  command->footer(kExamples);
  command->callback([arguments, &session] { session.action = [arguments] { run(*arguments); }; });
}

}  // namespace orrery::cli
