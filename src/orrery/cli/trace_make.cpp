// SPDX-License-Identifier: Apache-2.0
// The options are the settings themselves: each field of MakeSpec is one.
#include "orrery/app/trace_make.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>

#include "orrery/cli/console.hpp"
#include "orrery/cli/quantities.hpp"
#include "orrery/cli/session.hpp"
#include "orrery/workload/generate/make_spec.hpp"

namespace orrery::cli {
namespace {

namespace generate = workload::generate;

constexpr const char* kExamples =
    R"(Without -o it only counts. 'orrery replay make:model=llama-3-8b,tp=8,...' runs the same without files.
docs/trace-make.md has every formula.

Examples:
  orrery trace make --model llama-3-8b --tp 8 --batch 16 --seq 4096 -o traces/llama
  orrery trace make --model gpt-3-175b --tp 8 --pp 8 --dp 16 --batch 512 --seq 2048 --json
  orrery trace make --model mixtral-8x7b --dp 8 --ep 8 --zero 1 -o traces/moe
  orrery trace make --model llama-3-70b --mode decode --tp 8 --batch 32 --seq 8192 --steps 4 -o traces/decode
  orrery trace make --layers 24 --hidden 2048 --heads 16 --ffn 8192 --vocab 32000 --dp 4 -o traces/small)";

struct Arguments {
  app::TraceMakeOptions options;
  std::vector<std::string> names;
  std::map<std::string, std::string> values;  // Of those that were given.
  bool is_json = false;
  bool is_quiet = false;
};

std::string flops_text(double flops) {
  constexpr const char* kUnits[] = {"", " k", " M", " G", " T", " P", " E", " Z"};
  std::size_t unit = 0;
  for (; flops >= 1000 && unit + 1 < std::size(kUnits); ++unit) flops /= 1000;
  return fmt::format("{:.4g}{}FLOP", flops, unit == 0 ? " " : kUnits[unit]);
}

std::string communication_table(const std::vector<generate::CommunicationTotal>& totals) {
  std::vector<std::vector<std::string>> rows;
  for (const generate::CommunicationTotal& total : totals) {
    rows.push_back({total.operation, total.group, fmt::format("{}", total.members),
                    fmt::format("{}", total.calls), bytes_text(total.bytes)});
  }
  return format_table({"<operation", "<group", "of ranks", "calls", "bytes"}, rows);
}

std::string format_made(const app::TraceMakeResult& result) {
  const generate::Recipe& recipe = result.recipe;
  const generate::Summary& summary = result.summary;
  std::string text = fmt::format(
      "{}: {} ranks, {:.4g} G parameters, {} micro-batches of {} x {} tokens\n"
      "{} in {} operations; pipeline bubble {:.2f} %\n\n",
      result.name, recipe.ranks(), static_cast<double>(generate::parameters(recipe.model)) / 1e9,
      recipe.micro_batches, recipe.micro_batch, recipe.seq, flops_text(summary.flops), summary.operations,
      100 * summary.bubble);
  std::vector<std::vector<std::string>> rows;
  for (const generate::RankTotal& kind : summary.kinds) {
    const std::string ranks = kind.first_tp == 0 && kind.last_tp == recipe.tp - 1
                                  ? "all"
                                  : fmt::format("{}-{}", kind.first_tp, kind.last_tp);
    rows.push_back({fmt::format("{}", kind.stage), ranks, fmt::format("{}", kind.operations),
                    flops_text(static_cast<double>(kind.flops)),
                    fmt::format("{:.4g} G", static_cast<double>(kind.parameters) / 1e9)});
  }
  text += format_table({"stage", "tp ranks", "operations", "per rank", "parameters"}, rows);
  if (!summary.communication.empty()) text += "\n" + communication_table(summary.communication);
  if (!result.first_file.empty()) {
    text += fmt::format("\n{} to {}: {} files\n", result.first_file, result.last_file, recipe.ranks());
  }
  return text;
}

void run(Arguments& arguments) {
  app::TraceMakeOptions& options = arguments.options;
  for (const std::string& name : arguments.names) {
    const auto given = arguments.values.find(name);
    if (given != arguments.values.end()) options.settings.emplace_back(name, given->second);
  }
  options.wants_stop = was_interrupted;
  const app::TraceMakeResult result = [&] {
    Progress progress{arguments.is_quiet};  // Gone before anything is printed.
    options.on_progress = [&](std::size_t done, std::size_t total) { progress.update(done, total); };
    return app::make_trace(options);
  }();
  print(arguments.is_json ? app::to_json(result) : format_made(result));
}

}  // namespace

void add_trace_make(CLI::App& trace, Session& session) {
  CLI::App* command = trace.add_subcommand("make", "Traces of transformer training and inference steps.");
  const auto arguments = std::make_shared<Arguments>();
  arguments->options.option_prefix = "--";
  arguments->options.command = session.words;
  for (const config::FieldDoc& field : config::describe_spec<generate::MakeSpec>()) {
    arguments->names.push_back(field.name);
    std::string option = "--" + field.name;
    std::ranges::replace(option, '_', '-');
    const bool has_default = !field.default_value.empty() && field.default_value != "null";
    const std::string help =
        has_default ? fmt::format("{} [{}]", field.help, field.default_value) : field.help;
    const bool is_switch = field.type == config::Codec<bool>::name({});
    const auto take = [arguments, is_switch, name = field.name](const std::string& value) {
      const bool is_alone = is_switch && (value.empty() || value == "{}");
      arguments->values[name] = is_alone ? "true" : value;
    };
    CLI::Option* added = command->add_option_function<std::string>(option, take, help)->type_name(field.type);
    if (is_switch) added->expected(0, 1);  // The name alone means true.
  }
  command->add_option("-o,--output", arguments->options.output, "Prefix of the files <prefix>.<rank>.et")
      ->type_name("PREFIX");
  command->add_option("--form", arguments->options.form, "et, et.gz, json or json.gz")->type_name("FORM");
  command->add_flag("--force", arguments->options.may_replace, "Replace a trace of that name");
  command->add_flag("--json", arguments->is_json, "Print JSON and nothing else");
  command->add_flag("--quiet", arguments->is_quiet, "No progress");
  command->footer(kExamples);
  command->callback([arguments, &session] { session.action = [arguments] { run(*arguments); }; });
}

}  // namespace orrery::cli
