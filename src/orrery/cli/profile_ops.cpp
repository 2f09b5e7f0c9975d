// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <filesystem>
#include <memory>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/cli/become_python.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/session.hpp"

namespace orrery::cli {
namespace {

namespace fs = std::filesystem;

struct Arguments {
  std::string output = "operators";
  std::string seconds;
  std::vector<std::string> types;
  std::vector<std::string> models;
  std::string python;
  bool is_quick = false;
  bool is_json = false;
};

constexpr const char* kExamples = R"(Examples:
  orrery profile-ops -o here
      writes here.csv (the table) and here.yaml (a cluster of this machine that uses it); about 7 minutes
  orrery profile-ops -o here --quick --model hidden=768,heads=12,ffn=3072,tokens=256
      a coarse grid and the shapes of one decoder layer; about a minute
  orrery run -n 2 --cluster here.yaml --compute model train.py
)";

void check_output(const std::string& output) {
  const std::string name = fs::path{output}.filename().string();
  const auto is_plain = [](char letter) {
    return (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           (letter >= '0' && letter <= '9') || letter == '_' || letter == '-';
  };
  if (name.empty() || !std::ranges::all_of(name, is_plain)) {
    refuse_option("--output", output,
                  "expected a name of letters, digits, - and _; .csv and .yaml are added");
  }
  std::error_code problem;
  const fs::path folder = fs::path{output}.parent_path();
  if (!folder.empty() && !fs::is_directory(folder, problem)) {
    refuse_option("--output", output, "no such folder");
  }
  if (::access(folder.empty() ? "." : folder.c_str(), W_OK) != 0) {
    refuse_option("--output", output, "the folder cannot be written to");
  }
  for (const char* const end : {".csv", ".yaml"}) {
    if (fs::exists(output + end, problem)) {
      refuse_option("--output", output, fmt::format("{}{} is there already", name, end));
    }
  }
}

void check_model(const std::string& text) {
  static const std::vector<std::string> kKeys{"hidden", "heads", "ffn", "tokens", "batch"};
  constexpr const char* kForm = "expected hidden=N,heads=N,ffn=N,tokens=N and perhaps batch=N";
  std::vector<std::string> seen;
  for (const std::string_view word : split(text, ',')) {
    const std::size_t equals = std::min(word.find('='), word.size());
    const std::string key{word.substr(0, equals)};
    if (std::ranges::find(kKeys, key) == kKeys.end()) {
      refuse_option("--model", text, kForm, nearest_name(key, kKeys));
    }
    const auto value = parse_integer(word.substr(std::min(equals + 1, word.size())));
    constexpr std::int64_t kMost = 1 << 20;
    if (!value || *value < 1 || *value > kMost) refuse_option("--model", text, kForm);
    seen.push_back(key);
  }
  for (std::size_t i = 0; i + 1 < kKeys.size(); ++i) {
    if (std::ranges::count(seen, kKeys[i]) != 1) refuse_option("--model", text, kForm);
  }
}

void check(const Arguments& arguments) {
  check_output(arguments.output);
  static const std::vector<std::string> kTypes{"fp32", "bf16", "fp16", "fp64"};
  for (const std::string& type : arguments.types) {
    if (std::ranges::find(kTypes, type) == kTypes.end()) {
      refuse_option("--dtype", type, fmt::format("expected one of: {}", join(kTypes, ", ")),
                    nearest_name(type, kTypes));
    }
  }
  for (const std::string& model : arguments.models) check_model(model);
  if (arguments.seconds.empty()) return;
  const auto seconds = parse_number(arguments.seconds);
  constexpr double kMost = 86400;
  if (!seconds || *seconds < 1 || *seconds > kMost) {
    refuse_option("--seconds", arguments.seconds, "expected 1 to 86400");
  }
}

void run(const Arguments& arguments, const Session& session) {
  check(arguments);
  std::vector<std::string> words{arguments.output};
  const auto add = [&](const char* option, const std::string& value) {
    if (!value.empty()) words.insert(words.end(), {option, value});
  };
  add("--seconds", arguments.seconds);
  for (const std::string& type : arguments.types) add("--dtype", type);
  for (const std::string& model : arguments.models) add("--model", model);
  if (arguments.is_quick) words.emplace_back("--quick");
  if (arguments.is_json) words.emplace_back("--json");
  become_python(session, arguments.python, "live/profile_ops.py", words);
}

}  // namespace

void add_profile_ops(CLI::App& root, Session& session) {
  CLI::App* command =
      root.add_subcommand("profile-ops", "Measures torch's operators on this machine, for --compute model.");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("-o,--output", arguments->output, "Name of the two files, without .csv and .yaml")
      ->capture_default_str();
  command->add_flag("--quick", arguments->is_quick, "A coarse grid");
  command->add_option("--seconds", arguments->seconds, "Time for it at the most (default: 420, quick: 60)");
  command->add_option("--dtype", arguments->types,
                      "fp32 (default), bf16, fp16, fp64; several are profiled in turn");
  command->add_option("--model", arguments->models,
                      "Also the shapes of a decoder layer: hidden=N,heads=N,ffn=N,tokens=N[,batch=N]");
  command->add_option("--python", arguments->python,
                      "Interpreter with torch (default: the one Orrery is installed in)");
  command->add_flag("--json", arguments->is_json, "Print JSON and nothing else");
  command->footer(kExamples);
  command->callback(
      [arguments, &session] { session.action = [arguments, &session] { run(*arguments, session); }; });
}

}  // namespace orrery::cli
