// SPDX-License-Identifier: Apache-2.0
// Result folders as samples.
#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "orrery/app/compare.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/base/text.hpp"

namespace orrery::app {
namespace {

using Json = nlohmann::json;
constexpr std::size_t kLargest = std::size_t{1} << 31;

[[noreturn]] void fail(const std::string& path, const std::string& why) {
  throw InputError{fmt::format("{}: {}", path, why)};
}

std::map<std::string, double> rank_figures(const Json& rank) {
  std::map<std::string, double> figures;
  for (const char* name : {"compute", "communication", "waiting", "sleeping"}) {
    figures[name] = rank.at(fmt::format("{}_ps", name)).get<double>();
  }
  return figures;
}

RunSample sample_of(const Json& json) {
  RunSample sample;
  sample.total = json.at("total_ps").get<double>();
  for (const Json& rank : json.at("ranks")) sample.ranks.push_back(rank_figures(rank));
  for (const Json& one : json.at("operations")) {
    sample.operations[one.at("name")] = {one.at("calls").get<double>(), one.at("time_ps").get<double>(),
                                         one.at("waiting_ps").get<double>()};
  }
  return sample;
}

/// Operations that were posted after the warm-up.
void read_events(const std::string& path, double begin, RunSample& sample) {
  const std::string text = read_file(path, kLargest);
  std::string_view rest = text;
  bool is_head = true;
  sample.operations.clear();
  int line = 0;
  while (!rest.empty()) {
    const std::size_t end = rest.find('\n');
    const std::string_view row = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    ++line;
    if (row.starts_with('#')) continue;
    if (std::exchange(is_head, false)) continue;
    const std::vector<std::string_view> cells = split(row, ',');
    constexpr std::size_t kPosted = 6;
    if (cells.size() < kPosted + 3) fail(path, fmt::format("line {}: too few columns", line));
    const auto posted = parse_number(cells[kPosted]);
    const auto began = parse_number(cells[kPosted + 1]);
    const auto done = parse_number(cells[kPosted + 2]);
    if (!posted || !began || !done) fail(path, fmt::format("line {}: times are no numbers", line));
    if (*posted < begin) continue;
    RunSample::Operation& operation = sample.operations[std::string{cells[1]}];
    operation.calls += 1;
    operation.time += *done - *began;
    operation.waiting += *began - *posted;
  }
}

/// A program is the same wherever its file lies.
std::string program_text(const std::string& words) {
  const std::string script = words.substr(0, words.find(' '));
  return std::filesystem::path{script}.filename().string() + words.substr(script.size());
}

std::map<std::string, std::string> settings_of(const Json& json) {
  std::map<std::string, std::string> settings;
  settings["number of ranks"] = fmt::format("{}", json.at("ranks").size());
  const Json configuration = json.value("manifest", Json::object()).value("configuration", Json::object());
  if (configuration.contains("program")) settings["program"] = program_text(configuration.at("program"));
  if (configuration.contains("warmup")) settings["warm-up"] = configuration.at("warmup");
  return settings;
}

}  // namespace

ComparedRun read_run(const std::string& folder) {
  namespace fs = std::filesystem;
  const std::string path = folder + "/result.json";
  if (!fs::is_directory(folder)) fail(folder, "no such folder; expected one that 'orrery run --out' wrote");
  if (!fs::exists(path)) {
    fail(folder, "no result.json in it; expected a folder that 'orrery run --out' wrote");
  }
  const Json json = Json::parse(read_file(path, kLargest), nullptr, false);
  try {
    ComparedRun run;
    run.name = folder;
    run.kind = json.value("kind", "simulated");
    run.cluster = json.at("cluster");
    run.settings = settings_of(json);
    if (json.contains("repeats")) {
      for (const Json& repeat : json.at("repeats")) run.samples.push_back(sample_of(repeat));
    } else {
      RunSample sample = sample_of(json);
      if (fs::exists(folder + "/events.csv")) {
        read_events(folder + "/events.csv", json.at("begin_ps").get<double>(), sample);
      }
      run.samples.push_back(std::move(sample));
    }
    if (run.samples.empty()) fail(path, "there is no launch in it");
    return run;
  } catch (const Json::exception&) {
    fail(path, "not the result of 'orrery run': " +
                   std::string{json.is_discarded() ? "no JSON" : "fields are missing"});
  }
}

}  // namespace orrery::app
