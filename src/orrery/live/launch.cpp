// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/launch.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>

#include "orrery/base/digest.hpp"
#include "orrery/base/error.hpp"
#include "orrery/live/join.hpp"

namespace orrery::live {
namespace {

using Variables = std::map<std::string, std::string>;

Variables present_environment() {
  Variables variables;
  for (char** entry = ::environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const std::size_t equals = text.find('=');
    if (equals != std::string::npos) variables[text.substr(0, equals)] = text.substr(equals + 1);
  }
  return variables;
}

/// `first` in front of a list that may be there.
void prepend(Variables& variables, const std::string& name, const std::string& first) {
  std::string& list = variables[name];
  list = list.empty() ? first : first + ":" + list;
}

std::string existing(const std::string& path, const std::string& what) {
  if (!std::filesystem::exists(path)) throw InputError{fmt::format("{}: {} is missing", path, what)};
  return path;
}

void check_program(const LaunchOptions& options) {
  if (options.program.empty()) throw InputError{"run: expected a script, or -m and a module"};
  const std::string& first = options.program.front();
  if (first == "-m") {
    if (options.program.size() < 2) throw InputError{"run -m: expected the name of a module"};
    return;
  }
  std::error_code problem;
  if (!std::filesystem::exists(first, problem)) throw InputError{fmt::format("{}: no such script", first)};
  if (std::filesystem::is_directory(first, problem) &&
      !std::filesystem::exists(first + "/__main__.py", problem)) {
    throw InputError{fmt::format("{}: a folder without __main__.py is no script", first)};
  }
  if (::access(first.c_str(), R_OK) != 0) throw InputError{fmt::format("{}: cannot be read", first)};
}

}  // namespace

std::uint64_t program_digest(const std::vector<std::string>& program) {
  Digest digest;
  for (const std::string& word : program) digest.add(word);
  std::error_code problem;
  const bool is_folder = std::filesystem::is_directory(program.front(), problem);
  const std::string path = is_folder ? program.front() + "/__main__.py" : program.front();
  // Of -m MODULE the name will do.
  if (!std::filesystem::is_regular_file(path, problem)) return digest.value();
  if (std::ifstream script{path, std::ios::binary}) {
    digest.add(std::string{std::istreambuf_iterator<char>{script}, {}});
  }
  return digest.value();
}

Launch plan_launch(const LaunchOptions& options, const std::string& address, int control,
                   const std::vector<int>& outputs) {
  check_program(options);
  const std::string live = options.package + "/live";
  const std::string launcher = existing(live + "/launch.py", "a part of Orrery");
  Variables variables = present_environment();
  variables[kLiveVariable] = address;
  variables["ORRERY_PACKAGE"] = options.package;
  prepend(variables, "LD_PRELOAD", existing(options.package + "/lib/liborrery_rank.so", "a part of Orrery"));
  // Ranks are measured one by one and forked from one parent: both want one thread each.
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    variables.try_emplace(name, "1");
  }
  if (!options.warmup.empty()) variables["ORRERY_WARMUP"] = options.warmup;
  if (!options.dataflow.empty()) variables["ORRERY_DATAFLOW"] = options.dataflow;
  if (!options.device_map.empty()) variables["ORRERY_DEVICE_MAP"] = options.device_map;
  if (!outputs.empty()) variables["ORRERY_OUTPUTS"] = fmt::format("{}", fmt::join(outputs, ","));
  variables.insert_or_assign("PYTHONUNBUFFERED", std::string{"1"});  // Output is shown when it is printed.
  Launch launch;
  if (options.is_fresh || !options.ranks) prepend(variables, "PYTHONPATH", live + "/site");
  launch.words = {options.python};
  if (options.ranks) {
    launch.words.insert(launch.words.end(), {launcher, options.is_fresh ? "fresh" : "fork",
                                             fmt::format("{}", *options.ranks), fmt::format("{}", control)});
  }
  launch.words.insert(launch.words.end(), options.program.begin(), options.program.end());
  for (const auto& [name, value] : variables) launch.environment.push_back(fmt::format("{}={}", name, value));
  return launch;
}

Launch plan_real_launch(const LaunchOptions& options, const std::string& settings,
                        const std::string& warmup) {
  check_program(options);
  const std::string live = options.package + "/live";
  Variables variables = present_environment();
  prepend(variables, "LD_PRELOAD",
          existing(options.package + "/lib/liborrery_record.so", "a part of Orrery"));
  for (const char* name : {"OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) {
    variables.try_emplace(name, "1");
  }
  variables.erase("ORRERY_WARMUP");
  if (!warmup.empty()) variables["ORRERY_WARMUP"] = warmup;
  variables.insert_or_assign("PYTHONUNBUFFERED", std::string{"1"});
  Launch launch;
  launch.words = {options.python, existing(live + "/real.py", "a part of Orrery"), settings};
  launch.words.insert(launch.words.end(), options.program.begin(), options.program.end());
  for (const auto& [name, value] : variables) launch.environment.push_back(fmt::format("{}={}", name, value));
  return launch;
}

}  // namespace orrery::live
