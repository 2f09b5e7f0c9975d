// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/trace_make.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "orrery/app/output_check.hpp"
#include "orrery/base/byte_sink.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/chakra/lower.hpp"
#include "orrery/chakra/trace_writer.hpp"
#include "orrery/engine/engine.hpp"
#include "orrery/version.hpp"
#include "orrery/workload/generate/generate.hpp"

namespace orrery::app {
namespace {

namespace fs = std::filesystem;
namespace generate = workload::generate;
using Json = nlohmann::ordered_json;
using workload::Rank;

const std::vector<std::string> kForms{"et", "et.gz", "json", "json.gz"};

/// "gpt.12.et" is rank 12 of "gpt".
bool is_of_trace(std::string_view file, std::string_view prefix) {
  if (!file.starts_with(prefix) || !file.substr(prefix.size()).starts_with('.')) return false;
  const std::string_view rest = file.substr(prefix.size() + 1);
  const std::size_t dot = rest.find('.');
  if (dot == std::string_view::npos || dot == 0) return false;
  const bool is_number =
      std::ranges::all_of(rest.substr(0, dot), [](char c) { return c >= '0' && c <= '9'; });
  return is_number && std::ranges::find(kForms, rest.substr(dot + 1)) != kForms.end();
}

/// Files that would be taken for parts of the trace: those it replaces, and those it must not be mixed with.
void check_place(const TraceMakeOptions& options, Rank ranks) {
  const fs::path prefix{options.output};
  const std::string name = prefix.filename().string();
  std::error_code ignored;
  if (name.empty() || fs::is_directory(prefix, ignored)) {
    throw InputError{fmt::format("{}: is a folder; expected a prefix of files, such as {}", options.output,
                                 (prefix / "trace").lexically_normal().string())};
  }
  const fs::path folder = prefix.has_parent_path() ? prefix.parent_path() : fs::path{"."};
  std::error_code error;
  for (fs::directory_iterator entry{folder, error}, end; !error && entry != end; entry.increment(error)) {
    const std::string file = entry->path().filename().string();
    if (!is_of_trace(file, name)) continue;
    const std::string shown = (folder / file).lexically_normal().string();
    if (!options.may_replace) {
      throw InputError{fmt::format("{}: exists already; '{}force' replaces a trace of that name", shown,
                                   options.option_prefix)};
    }
    const std::string_view rest = std::string_view{file}.substr(name.size() + 1);
    const auto rank = parse_integer(rest.substr(0, rest.find('.')));
    const bool is_replaced = rank && *rank < ranks && rest.substr(rest.find('.') + 1) == options.form;
    if (!is_replaced) {
      throw InputError{
          fmt::format("{}: is of another trace of that name, which would be mixed with this one "
                      "({} ranks, .{}); remove it first",
                      shown, ranks, options.form)};
    }
  }
  check_output(fmt::format("{}.0.{}", options.output, options.form));
}

/// The node that says which groups the rank is in.
chakra::Node groups_node(const workload::Workload& workload, const std::vector<std::string>& names) {
  Json list = Json::array();
  for (const std::string& name : names) {
    const std::vector<Rank>& ranks = workload.groups.at(name);
    list.push_back({{"pg_name", name}, {"ranks", ranks}, {"group_size", ranks.size()}});
  }
  chakra::Node node;
  node.id = 0;
  node.name = "## process_group:init ##";
  node.type = chakra::NodeType::kMetadata;
  node.inputs = chakra::IoInfo{.values = list.dump(), .shapes = "[]", .types = "['String']"};
  return node;
}

void write_rank(const workload::Workload& workload, const generate::Recipe& recipe, Rank rank,
                const std::string& path) {
  const auto sink = open_sink(path);
  const auto writer = chakra::write_trace(path, *sink);
  chakra::GlobalMetadata head;
  head.version = chakra::kSchemaVersion;
  head.attributes.push_back(chakra::Attribute::of_string("orrery_trace_make", recipe.settings));
  writer->metadata(head);
  std::vector<std::string> names;
  const generate::Place place = generate::place_of(recipe, rank);
  for (std::size_t i = 0; i < generate::kGroupKinds; ++i) {
    std::string name = generate::group_name(recipe, static_cast<generate::GroupKind>(i), place);
    const auto found = workload.groups.find(name);
    if (found != workload.groups.end() && std::ranges::binary_search(found->second, rank)) {
      names.push_back(std::move(name));
    }
  }
  if (!names.empty()) writer->node(groups_node(workload, names));
  const auto source = workload.open(rank);
  for (workload::Op op; source->next(op);) writer->node(chakra::to_node(op, rank));
  writer->finish();
  sink->commit();
}

void write_files(const TraceMakeOptions& options, const workload::Workload& workload,
                 TraceMakeResult& result) {
  const auto path_of = [&](Rank rank) { return fmt::format("{}.{}.{}", options.output, rank, options.form); };
  Rank rank = 0;
  try {
    for (; rank < workload.ranks; ++rank) {
      if (options.wants_stop && options.wants_stop()) throw engine::Interrupted{};
      write_rank(workload, result.recipe, rank, path_of(rank));
      if (options.on_progress) options.on_progress(rank + 1, workload.ranks);
    }
  } catch (...) {
    std::error_code ignored;
    for (Rank written = 0; written < rank; ++written) fs::remove(path_of(written), ignored);
    throw;
  }
  result.first_file = path_of(0);
  result.last_file = path_of(workload.ranks - 1);
}

generate::Recipe read_recipe(const TraceMakeOptions& options) {
  std::string line = "make:";
  for (const auto& [name, value] : options.settings) {
    if (value.find(',') != std::string::npos) {
      throw InputError{{.source = options.option_prefix + name,
                        .position = {},
                        .field = {},
                        .value = value,
                        .expected = "expected one value, without a comma",
                        .nearest = {}}};
    }
    line += fmt::format("{}{}={}", line.ends_with(':') ? "" : ",", name, value);
  }
  return generate::parse_recipe(line, "trace make", options.catalog);
}

}  // namespace

TraceMakeResult make_trace(const TraceMakeOptions& options) {
  if (std::ranges::find(kForms, options.form) == kForms.end()) {
    throw InputError{{.source = options.option_prefix + "form",
                      .position = {},
                      .field = {},
                      .value = options.form,
                      .expected = "expected one of: " + join(kForms, ", "),
                      .nearest = nearest_name(options.form, kForms)}};
  }
  TraceMakeResult result;
  result.recipe = read_recipe(options);
  if (!options.output.empty()) check_place(options, result.recipe.ranks());
  const workload::Workload workload = generate::make_workload(result.recipe);
  result.name = workload.name;
  result.summary = generate::summarize(result.recipe);
  if (!options.output.empty()) write_files(options, workload, result);
  result.manifest = {.version = std::string{kVersion},
                     .commit = std::string{commit()},
                     .digest = result.summary.digest,
                     .configuration = {{"make", result.recipe.settings}},
                     .command = options.command};
  return result;
}

}  // namespace orrery::app
