// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <cstring>
#include <filesystem>
#include <memory>

#include "orrery/app/collective.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/cli/collective_text.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/session.hpp"
#include "orrery/topology/draw/svg.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::cli {
namespace {

constexpr const char* kCluster = "hgx-h100";
constexpr const char* kSizes = "4KiB,1MiB,256MiB";

struct Arguments {
  std::string output = "orrery-demo";
  bool is_json = false;
};

constexpr const char* kNext = R"(
What to look at next
  {0}/cluster.svg         the cluster, in any browser
  {0}/all_reduce.json.gz  the timeline of the fastest 256 MiB all-reduce: drop it on https://ui.perfetto.dev
  {0}/result.json         every number above, to the picosecond

Try
  orrery collective all_reduce --cluster {1} --algorithm nccl  what NCCL would choose, and its time
  orrery collective all_to_all --cluster gb200-nvl72 --size 64MiB   another operation, on 72 GPUs
  orrery cluster list                                               clusters that come with Orrery
  orrery describe                                                   everything that can be named
)";

void write_file(const std::string& path, std::string_view text) {
  OutputFile file{path};
  file.write(text);
  file.commit();
}

void run(const Arguments& arguments, const Session& session) {
  std::error_code problem;
  std::filesystem::create_directories(arguments.output, problem);
  if (problem) {
    throw InputError{fmt::format("{}: cannot make the folder: {}", arguments.output, problem.message())};
  }
  app::CollectiveOptions options;
  options.operation = "all_reduce";
  options.cluster = kCluster;
  options.size = kSizes;
  options.workers = 0;
  options.trace = arguments.output + "/all_reduce.json.gz";
  options.option_prefix = "--";
  options.command = session.words;
  options.wants_stop = was_interrupted;
  const app::CollectiveResult result = app::collective(options);
  write_file(arguments.output + "/cluster.svg", topology::draw_svg(topology::load_cluster(kCluster)));
  const std::string json = app::to_json(result);
  write_file(arguments.output + "/result.json", json);
  if (arguments.is_json) return print(json);
  print("An all-reduce over the 8 GPUs of an HGX H100 board, by every algorithm that can do it:\n\n" +
        format_collective(result) + fmt::format(fmt::runtime(kNext), arguments.output, kCluster));
}

}  // namespace

void add_demo(CLI::App& root, Session& session) {
  CLI::App* command = root.add_subcommand("demo", "A one-minute tour: a table, a picture and a timeline.");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("--output", arguments->output, "Folder for the files")->capture_default_str();
  command->add_flag("--json", arguments->is_json, "Print JSON and nothing else");
  command->footer("Examples:\n  orrery demo\n  orrery demo --output /tmp/tour");
  command->callback(
      [arguments, &session] { session.action = [arguments, &session] { run(*arguments, session); }; });
}

}  // namespace orrery::cli
