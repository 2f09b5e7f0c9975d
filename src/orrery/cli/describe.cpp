// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/describe.hpp"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <map>
#include <memory>

#include "orrery/base/text.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/session.hpp"

namespace orrery::cli {
namespace {

struct Arguments {
  std::string name;
  bool is_json = false;
};

std::string heading(const std::string& kind) {
  static const std::map<std::string, std::string> kHeadings{
      {"network", "Network models (--network NAME:setting=value,...)"},
      {"algorithm", "Collective algorithms (--algorithm NAME,...)"},
      {"selection", "Selections (--algorithm WORD)"},
      {"generator", "Topology generators (--cluster NAME:setting=value,...)"},
      {"cluster", "Clusters of the catalogue (--cluster NAME)"},
      {"device", "Devices of the catalogue (device: NAME in a cluster file)"},
      {"model", "Models of the catalogue (orrery trace make --model NAME)"},
      {"workload", "Made workloads (orrery replay NAME:setting=value,...)"},
      {"operation", "Operations (orrery collective NAME)"},
      {"dtype", "Element types (--dtype NAME)"},
  };
  const auto found = kHeadings.find(kind);
  return found == kHeadings.end() ? kind : found->second;
}

std::string format_fields(const std::vector<config::FieldDoc>& fields) {
  std::string text;
  for (const config::FieldDoc& field : fields) {
    const bool is_optional = field.default_value.empty() || field.default_value == "null";
    const std::string value =
        field.required ? "required" : (is_optional ? "optional" : "default " + field.default_value);
    text += fmt::format("      {} ({}, {}): {}\n", field.name, field.type, value, field.help);
  }
  return text;
}

std::string format_descriptions(const std::vector<app::Description>& descriptions) {
  std::string text;
  std::string kind;
  for (const app::Description& entry : descriptions) {
    if (entry.kind != kind) {
      text += fmt::format("{}{}\n", text.empty() ? "" : "\n", heading(entry.kind));
      kind = entry.kind;
    }
    text += fmt::format("  {:<20} {}\n", entry.name, entry.help);
    if (!entry.operations.empty()) text += fmt::format("      for {}\n", join(entry.operations, ", "));
    text += format_fields(entry.fields);
  }
  return text;
}

}  // namespace

void add_describe(CLI::App& root, Session& session) {
  CLI::App* command = root.add_subcommand("describe", "Everything that can be named, with its settings.");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("name", arguments->name,
                      "Only this one, or this kind (network, algorithm, generator, ...)");
  command->add_flag("--json", arguments->is_json, "Print JSON and nothing else");
  command->footer("Examples:\n  orrery describe\n  orrery describe flow\n  orrery describe generator --json");
  command->callback([arguments, &session] {
    session.action = [arguments] {
      const auto found = arguments->name.empty() ? app::describe() : app::describe(arguments->name);
      print(arguments->is_json ? app::to_json(found) : format_descriptions(found));
    };
  });
}

}  // namespace orrery::cli
