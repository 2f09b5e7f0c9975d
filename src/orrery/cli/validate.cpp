// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>

#include "orrery/app/output_check.hpp"
#include "orrery/app/real_run.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/cli/become_python.hpp"
#include "orrery/cli/session.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string links = "loopback,1Gbps,200Mbps";
  std::string programs;
  std::string launches = "10";
  std::string clusters;
  std::string output;
  std::string python;
  bool is_json = false;
};

constexpr const char* kExamples = R"(Examples:
  orrery validate -o docs/validation.md
      every program on every link, really and simulated; an hour and a half on a machine that does nothing else (root)
  orrery validate --links loopback --programs tp_prefill,sweep --launches 4
)";

void check(const Arguments& arguments) {
  static const std::vector<std::string> kPrograms{"tp_decode", "tp_prefill", "voltage", "voltage_improved",
                                                  "pp",        "ddp",        "fsdp2",   "moe",
                                                  "sweep",     "poisson"};
  for (const std::string_view name : split(arguments.programs, ',')) {
    if (arguments.programs.empty()) break;
    if (std::ranges::find(kPrograms, name) == kPrograms.end()) {
      refuse_option("--programs", std::string{name},
                    fmt::format("expected some of: {}", join(kPrograms, ", ")),
                    nearest_name(name, kPrograms));
    }
  }
  for (const std::string_view link : split(arguments.links, ',')) {
    if (link == "loopback") continue;
    if (!app::parse_link(std::string{link})) {
      refuse_option("--links", std::string{link}, "expected loopback or a rate");
    }
    if (::geteuid() != 0) {
      refuse_option("--links", std::string{link}, "a link between ranks needs root; expected loopback");
    }
  }
  const std::int64_t launches = read_integer("--launches", arguments.launches);
  if (launches < 1 || launches > 1000) refuse_option("--launches", arguments.launches, "expected 1 to 1000");
  if (fs::exists(arguments.clusters) && !fs::is_directory(arguments.clusters)) {
    refuse_option("--clusters", arguments.clusters, "not a folder");
  }
  const fs::path folder = fs::path{arguments.output}.parent_path();
  if (!folder.empty() && !fs::is_directory(folder)) {
    refuse_option("--output", arguments.output, "no such folder");
  }
}

/// It drives this very command.
void run(const Arguments& arguments, const Session& session) {
  check(arguments);
  std::vector<std::string> words{fs::read_symlink("/proc/self/exe").string()};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--links", arguments.links);
  add("--programs", arguments.programs);
  add("--launches", arguments.launches);
  add("--clusters", arguments.clusters.empty() ? "" : fs::absolute(arguments.clusters).string());
  add("--output", arguments.output);
  if (arguments.is_json) words.emplace_back("--json");
  become_python(session, arguments.python, "live/validate.py", words);
}

}  // namespace

void add_validate(CLI::App& root, Session& session) {
  CLI::App* command =
      root.add_subcommand("validate", "Real runs against their simulation: how right predictions are here.");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("--links", arguments->links, "loopback, and rates of links between two ranks (root)")
      ->capture_default_str();
  command->add_option("--programs", arguments->programs, "Some of the programs (default: all)");
  command
      ->add_option("--launches", arguments->launches,
                   "Real launches of each; as many simulated runs")
      ->capture_default_str();
  command->add_option("--clusters", arguments->clusters,
                      "Folder of calibrations to use again; made and filled where missing");
  command->add_option("-o,--output", arguments->output, "Page to write; what else is in it stays")
      ->type_name("FILE");
  command->add_option("--python", arguments->python,
                      "Interpreter with torch (default: the one Orrery is installed in)");
  command->add_flag("--json", arguments->is_json, "Print JSON and nothing else");
  command->footer(kExamples);
  command->callback(
      [arguments, &session] { session.action = [arguments, &session] { run(*arguments, session); }; });
}

}  // namespace orrery::cli
