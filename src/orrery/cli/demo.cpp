// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <filesystem>
#include <memory>

#include "orrery/app/live_run.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/run_text.hpp"
#include "orrery/cli/session.hpp"
#include "orrery/topology/draw/svg.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

constexpr const char* kCluster = "jetson-lan";
constexpr std::int64_t kRanks = 4;

struct Arguments {
  std::string output = "orrery-demo";
  bool is_json = false;
};

constexpr const char* kFirst =
    R"(A small language model on {0} simulated boards ({1}), by an ordinary torch.distributed
script with tensor parallelism. What it prints is its real output; its clock is the cluster's.

)";

constexpr const char* kNext = R"(
What to look at next
  {0}/cluster.svg            the cluster, in any browser
  {0}/run/timeline.json.gz   who computed, sent and waited when: drop it on https://ui.perfetto.dev
  {0}/run/result.json        every number above, to the picosecond

Try
  orrery run -n 8 --cluster hgx-h100 {1}         the same script on eight GPUs' links
  orrery run -n 4 --cluster star:hosts=4,bandwidth=100Mbps,latency=5ms {1}
  orrery collective all_reduce --cluster hgx-h100                       one collective, every algorithm
  orrery cluster list                                                   clusters that come with Orrery
)";

/// Results of an earlier demo are ours to replace; anything else is not.
void prepare_folder(const std::string& folder) {
  std::error_code problem;
  fs::create_directories(folder, problem);
  if (problem) throw InputError{fmt::format("{}: cannot make the folder: {}", folder, problem.message())};
  if (fs::exists(folder + "/run/result.json", problem)) fs::remove_all(folder + "/run", problem);
}

void run(const Arguments& arguments, const Session& session) {
  app::LiveOptions options;
  set_live_defaults(options, session);
  const std::string script = options.launch.package + "/examples/tensor_parallel.py";
  options.cluster = kCluster;
  options.launch.ranks = kRanks;
  options.launch.program = {script, "--check"};
  options.output = arguments.output + "/run";
  options.output_to_stderr = arguments.is_json;
  prepare_folder(arguments.output);
  OutputFile picture{arguments.output + "/cluster.svg"};
  picture.write(topology::draw_svg(topology::load_cluster(kCluster)));
  picture.commit();
  if (!arguments.is_json) print(fmt::format(fmt::runtime(kFirst), kRanks, kCluster));
  RunProgress progress{arguments.is_json};
  options.progress = [&](const app::LiveProgress& now) { progress.update(now); };
  const app::LiveResult result = app::run_live(options);
  progress.clear();
  if (arguments.is_json) return print(app::to_json(result));
  print(format_run(result, {}) +
        fmt::format(fmt::runtime(kNext), arguments.output, fs::relative(script).string()));
}

}  // namespace

void add_demo(CLI::App& root, Session& session) {
  CLI::App* command = root.add_subcommand(
      "demo", "A language model on four simulated boards: its text, a picture and a timeline.");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("--output", arguments->output, "Folder for the files")->capture_default_str();
  command->add_flag("--json", arguments->is_json, "Print JSON and nothing else");
  command->footer("Examples:\n  orrery demo\n  orrery demo --output /tmp/tour");
  command->callback(
      [arguments, &session] { session.action = [arguments, &session] { run(*arguments, session); }; });
}

}  // namespace orrery::cli
