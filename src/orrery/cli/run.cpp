// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/run.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>

#include "orrery/base/error.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/run_text.hpp"
#include "orrery/cli/session.hpp"

namespace orrery::cli {
namespace {

struct Arguments {
  live::RunOptions options;
  std::string ranks;
  bool is_json = false;
  bool is_quiet = false;
};

constexpr const char* kExamples = R"(Usage: orrery run [OPTIONS] SCRIPT [ARGUMENTS...]
       orrery run [OPTIONS] -m MODULE [ARGUMENTS...]

Examples:
  orrery run -n 4 --cluster jetson-lan train.py --steps 10
      four ranks on four simulated edge boards; everything after the script is the script's
  orrery run --cluster hgx-h100 spawn.py
      a script that starts its own ranks (mp.spawn): no -n
  orrery run -n 8 --cluster star:hosts=8,bandwidth=1Gbps,latency=100us -m mypackage.train
  orrery run -n 4 --cluster lan.yaml --out first train.py
  orrery run -n 4 --cluster faster.yaml --compute ledger:first train.py
      the compute times of the first run on another network, exactly repeatable
  orrery run -n 4 --cluster lan.yaml --compute fixed:1ms train.py
      every stretch of computing takes a millisecond: the same result on any machine
)";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string{value};
}

void run(Arguments& arguments, const Session& session) {
  live::RunOptions& options = arguments.options;
  if (!arguments.ranks.empty()) options.ranks = read_integer("--ranks", arguments.ranks);
  options.option_prefix = "--";
  options.command = session.words;
  options.wants_stop = was_interrupted;
  options.output_to_stderr = arguments.is_json;
  if (options.python.empty()) options.python = variable("ORRERY_PYTHON");
  options.package = variable("ORRERY_PACKAGE");
  if (options.python.empty() || options.package.empty()) {
    throw InputError{"run: start it as the `orrery` of a Python environment with torch in it (pip install orrery-sim)"};
  }
  options.say = [](const std::string& text) { print_error(fmt::format("orrery: {}\n", text)); };
  RunProgress progress{arguments.is_quiet || ::isatty(STDERR_FILENO) == 0};
  options.progress = [&](const live::Progress& now) { progress.update(now); };
  const live::RunResult result = live::run(options);
  progress.clear();
  if (!result.has_joined) {
    print_error("orrery: the program ended without calling init_process_group: nothing was simulated\n");
    std::exit(result.program_status);
  }
  if (arguments.is_json) return print(live::to_json(result));
  if (!arguments.is_quiet) print(format_run(result, options.output));
}

}  // namespace

void add_run(CLI::App& root, Session& session) {
  CLI::App* command =
      root.add_subcommand("run", "A torch.distributed script, unmodified, on a simulated cluster.");
  const auto arguments = std::make_shared<Arguments>();
  live::RunOptions& options = arguments->options;
  command->add_option("-n,--ranks", arguments->ranks, "Ranks to start; without it the script starts its own");
  command->add_option("--cluster", options.cluster, "File, preset or generator")->required();
  command->add_option("--network", options.network, "Network model")->capture_default_str();
  command->add_option("--algorithm", options.algorithm,
                      "How collectives run: gloo (default), nccl (default on clusters with its tables), or one "
                      "algorithm where it can");
  command->add_option("--compute", options.compute,
                      "What computing costs: measured, fixed:TIME, fixed:TIME/op, ledger:FOLDER")
      ->capture_default_str();
  command->add_option("--jobs", options.jobs, "Ranks that compute at the same time, each on its core")
      ->capture_default_str();
  command->add_option("--faults", options.faults, "File of what goes wrong, and when");
  command->add_option("--out", options.output, "Folder for result.json, events, ledger and timeline; must not exist");
  command->add_option("--seed", options.seed, "Of everything random in the models")->capture_default_str();
  command->add_flag("--fresh", options.is_fresh, "Start each rank as a new interpreter instead of forking one");
  command->add_flag("--tag-output", options.tags_output, "Put [rank] before each line that a rank prints");
  command->add_option("--python", options.python, "Interpreter of the ranks (default: the one Orrery is installed in)");
  command->add_flag("--json", arguments->is_json, "Print JSON; the ranks' output goes to standard error");
  command->add_flag("-q,--quiet", arguments->is_quiet, "Print only what the ranks print");
  command->prefix_command();  // Whatever stands after the script's name is the script's.
  command->footer(kExamples);
  command->callback([arguments, command, &session] {
    for (const std::string& word : command->remaining()) arguments->options.program.push_back(word);
    session.action = [arguments, &session] { run(*arguments, session); };
  });
}

}  // namespace orrery::cli
