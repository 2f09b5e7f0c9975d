// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <memory>

#include "orrery/app/live_run.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/run_real.hpp"
#include "orrery/cli/run_text.hpp"
#include "orrery/cli/session.hpp"

namespace orrery::cli {
namespace {

struct Arguments {
  app::LiveOptions options;
  RealArguments real;
  std::string ranks;
  std::string jobs = "1";  // Numbers are read by us, for one kind of message.
  std::string seed = "0";
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
  orrery run -n 8 --cluster hgx-h100 --device-map cuda=cpu train_gpu.py
      a script written for CUDA, on this host's CPU: .cuda(), torch.cuda.*, streams and events are answered
  orrery run -n 4 --cluster lan.yaml --compute fixed:1ms train.py
      every stretch of computing takes a millisecond: the same result on any machine
  orrery run --real -n 2 --repeat 10 --link 1Gbps --warmup barrier:1 --out measured train.py
      for real, over gloo, with a gigabit link between the ranks; then: orrery compare predicted measured
)";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string{} : std::string{value};
}

constexpr int kProgramFailed = 3;

/// Nothing was simulated: the program's own end is all there is to tell.
int tell_never_joined(const app::LiveResult& result) {
  print_error(
      fmt::format("orrery: the program {} without calling init_process_group: nothing was simulated (without -n "
                  "a program starts its ranks itself; should it be -n 2, or another number?)\n",
                  result.program_status == 0 ? "ended" : result.program_end));
  return result.program_status == 0 || result.program_was_killed ? result.program_status : kProgramFailed;
}

/// With faults a run goes on when a rank fails, and has a result; the command still says that the program has failed.
int tell_failed_ranks(const app::LiveResult& result) {
  std::vector<std::string> failed;
  for (std::size_t rank = 0; rank < result.ranks.size(); ++rank) {
    const live::RankTimes& times = result.ranks[rank].times;
    if (times.status == 0 || times.has_crashed) continue;
    failed.push_back(fmt::format("rank {} ended with exit status {} at {}", rank, times.status,
                                 to_text(times.finish.time_since_epoch())));
  }
  if (failed.empty()) return 0;
  print_error(fmt::format("orrery: {}\n", join(failed, "; ")));
  return kProgramFailed;
}

void run(Arguments& arguments, Session& session) {
  app::LiveOptions& options = arguments.options;
  if (!arguments.ranks.empty()) options.launch.ranks = read_integer("--ranks", arguments.ranks);
  options.jobs = read_integer("--jobs", arguments.jobs);
  options.seed = read_seed(arguments.seed);
  set_live_defaults(options, session);
  options.output_to_stderr = arguments.is_json;
  if (arguments.real.is_real) {
    if (arguments.is_quiet) options.say = nullptr;
    const app::LiveResult result = run_real(options, arguments.real);
    if (arguments.is_json) return print(app::to_json(result));
    if (!arguments.is_quiet) print(format_real(result, options.output));
    return;
  }
  RunProgress progress{arguments.is_quiet};
  options.progress = [&](const app::LiveProgress& now) { progress.update(now); };
  const app::LiveResult result = app::run_live(options);
  progress.clear();
  if (!result.has_joined) {
    session.exit_code = tell_never_joined(result);
    return;
  }
  if (arguments.is_json) {
    print(app::to_json(result));
  } else if (!arguments.is_quiet) {
    print(format_run(result, options.output));
  }
  session.exit_code = tell_failed_ranks(result);
}

}  // namespace

void set_live_defaults(app::LiveOptions& options, const Session& session) {
  options.option_prefix = "--";
  options.command = session.words;
  options.wants_stop = was_interrupted;
  options.say = [](const std::string& text) { print_error(fmt::format("orrery: {}\n", text)); };
  options.launch.package = variable("ORRERY_PACKAGE");
  if (options.launch.python.empty()) options.launch.python = variable("ORRERY_PYTHON");
  if (options.launch.python.empty() || options.launch.package.empty()) {
    throw InputError{
        "live runs need the `orrery` command of a Python environment with torch in it (pip install "
        "orrery-sim torch)"};
  }
}

void add_run(CLI::App& root, Session& session) {
  CLI::App* command =
      root.add_subcommand("run", "A torch.distributed script, unmodified, on a simulated cluster.");
  const auto arguments = std::make_shared<Arguments>();
  app::LiveOptions& options = arguments->options;
  command->add_option("-n,--ranks", arguments->ranks, "Ranks to start; without it the script starts its own");
  command->add_option("--cluster", options.cluster,
                      "File, preset or generator; required for a simulated run");
  add_real_options(*command, arguments->real);
  command->add_option("--network", options.network, "Network model")->capture_default_str();
  command->add_option(
      "--algorithm", options.algorithm,
      "How collectives run: gloo (default), nccl (default on clusters with its tables), or one "
      "algorithm where it can");
  command
      ->add_option("--compute", options.compute,
                   "What computing costs: measured, measured:raw (with the noise of this host), fixed:TIME, "
                   "fixed:TIME/op, model (of each rank's device), "
                   "fake (model, and CUDA tensors have no data), ledger:FOLDER")
      ->capture_default_str();
  command->add_option(
      "--device-map", options.device_map,
      "cuda=cpu: a program written for CUDA runs on this host's CPU, with the simulated devices");
  command->add_option("--jobs", arguments->jobs, "Ranks that compute at the same time, each on its core")
      ->capture_default_str();
  command->add_option(
      "--warmup", options.warmup,
      "What does not count: N optimizer steps, barrier:N, mark:NAME (until record_function NAME)");
  command->add_option("--faults", options.faults, "File of what goes wrong, and when");
  command->add_option("--out", options.output,
                      "Folder for result.json, events, ledger and timeline; must not exist, or be empty");
  command->add_option("--capture", options.capture,
                      "Folder for execution traces of the ranks, for orrery replay; must not exist, or be empty");
  command->add_flag(
      "--dataflow", options.follows_data,
      "The capture also says what computing could hide communication, for orrery explain (slow)");
  command->add_option("--seed", arguments->seed, "Of everything random in the models")->capture_default_str();
  command->add_flag("--fresh", options.launch.is_fresh,
                    "Start each rank as a new interpreter instead of forking one");
  command->add_flag("--tag-output", options.tags_output, "Put [rank] before each line that a rank prints");
  command->add_option("--python", options.launch.python,
                      "Interpreter of the ranks (default: the one Orrery is installed in)");
  command->add_flag("--json", arguments->is_json, "Print JSON; the ranks' output goes to standard error");
  command->add_flag("-q,--quiet", arguments->is_quiet, "Print only what the ranks print");
  command->prefix_command();  // Whatever stands after the script's name is the script's.
  command->footer(kExamples);
  command->callback([arguments, command, &session] {
    std::vector<std::string>& program = arguments->options.launch.program;
    for (const std::string& word : command->remaining()) program.push_back(word);
    if (!program.empty() && program.front().starts_with('-') && program.front() != "-m") {
      throw CLI::ExtrasError{command->get_name(),
                             program};  // No script's name, but a misspelt option of ours.
    }
    check_real_options(*command, arguments->real);
    session.action = [arguments, &session] { run(*arguments, session); };
  });
}

}  // namespace orrery::cli
