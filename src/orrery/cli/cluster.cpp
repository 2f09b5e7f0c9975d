// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "orrery/app/cluster_report.hpp"
#include "orrery/app/native_file.hpp"
#include "orrery/app/output_check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"
#include "orrery/base/text.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/session.hpp"
#include "orrery/topology/draw/summary.hpp"
#include "orrery/topology/draw/svg.hpp"
#include "orrery/topology/infragraph/infragraph.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::cli {
namespace {

struct Arguments {
  std::string cluster;
  std::string svg;
  std::string to;
  std::string output;
  bool is_lenient = false;
  bool is_json = false;
};

void write_file(const std::string& path, std::string_view text) {
  OutputFile file{path};
  file.write(text);
  file.commit();
}

topology::Cluster load(const Arguments& arguments) {
  if (arguments.cluster.empty()) {
    throw InputError{"expected a cluster: a file, a preset ('orrery cluster list') or a generator"};
  }
  topology::LoadOptions options;
  options.source = "cluster";
  options.lenient = arguments.is_lenient;
  return topology::load_cluster(arguments.cluster, options);
}

void list(const Arguments& arguments) {
  const std::vector<app::Preset> presets = app::list_presets();
  if (arguments.is_json) return print(app::presets_json(presets));
  std::vector<std::vector<std::string>> rows;
  for (const app::Preset& preset : presets) {
    rows.push_back({preset.name, fmt::format("{}", preset.ranks), preset.description});
  }
  print(format_table({"<preset", "ranks", "<description"}, rows) +
        fmt::format("\ngenerators: {}\n('orrery describe NAME' shows the settings of one)\n",
                    join(topology::builtin_generators().names(), ", ")));
}

void show(const Arguments& arguments) {
  if (!arguments.svg.empty()) app::check_output(arguments.svg);
  const topology::Cluster cluster = load(arguments);
  if (!arguments.svg.empty()) write_file(arguments.svg, topology::draw_svg(cluster));
  print(arguments.is_json ? app::graph_json(cluster) : topology::summarize(cluster));
}

void check(const Arguments& arguments) {
  const topology::Cluster cluster = load(arguments);
  app::check_reachable(cluster, arguments.cluster);
  if (arguments.is_json) return print(app::summary_json(cluster));
  std::string text =
      fmt::format("{}: ok: {} nodes, {} edges, {} ranks, all of them connected\n", cluster.name,
                  cluster.graph.node_count(), cluster.graph.edge_count(), cluster.ranks.size());
  for (const std::string& warning : cluster.warnings) text += fmt::format("warning: {}\n", warning);
  print(text);
}

void convert(const Arguments& arguments) {
  if (arguments.to != "infragraph" && arguments.to != "native") {
    throw InputError{{.source = "--to",
                      .position = {},
                      .field = {},
                      .value = arguments.to,
                      .expected = "expected one of: infragraph, native",
                      .nearest = nearest_name(arguments.to, {"infragraph", "native"})}};
  }
  if (!arguments.output.empty()) app::check_output(arguments.output);
  const topology::Cluster cluster = load(arguments);
  const std::string text =
      arguments.to == "native" ? app::write_native(cluster) : topology::write_infragraph(cluster);
  if (!arguments.output.empty()) write_file(arguments.output, text);
  if (arguments.is_json) return print(app::summary_json(cluster));
  if (arguments.output.empty()) return print(text);
  print(fmt::format("{}: {} nodes, {} edges, {} ranks\n", arguments.output, cluster.graph.node_count(),
                    cluster.graph.edge_count(), cluster.ranks.size()));
}

using Action = void (*)(const Arguments&);

CLI::App* add(CLI::App& parent, Session& session, const std::shared_ptr<Arguments>& arguments,
              const char* name, const char* help, Action action) {
  CLI::App* command = parent.add_subcommand(name, help);
  command->add_flag("--json", arguments->is_json, "Print JSON and nothing else");
  command->callback(
      [arguments, &session, action] { session.action = [arguments, action] { action(*arguments); }; });
  return command;
}

void add_cluster_argument(CLI::App* command, Arguments& arguments) {
  command->add_option("cluster", arguments.cluster, "File, preset, or generator such as star:hosts=8,...");
  command->add_flag("--lenient", arguments.is_lenient,
                    "InfraGraph files: follow upstream where it is looser");
}

}  // namespace

void add_cluster(CLI::App& root, Session& session) {
  CLI::App* command = root.add_subcommand("cluster", "List, show, check and convert cluster descriptions.");
  const auto arguments = std::make_shared<Arguments>();
  add(*command, session, arguments, "list", "Clusters that come with Orrery.", list)
      ->footer("Examples:\n  orrery cluster list\n  orrery cluster list --json");
  CLI::App* showing =
      add(*command, session, arguments, "show", "What a cluster is made of; a picture of it.", show);
  add_cluster_argument(showing, *arguments);
  showing->add_option("--svg", arguments->svg, "Write a picture to this file");
  showing->footer(
      "Examples:\n  orrery cluster show hgx-h100\n  orrery cluster show mycluster.yaml --svg mycluster.svg");
  CLI::App* checking =
      add(*command, session, arguments, "check", "Whether a cluster is well described and connected.", check);
  add_cluster_argument(checking, *arguments);
  checking->footer(
      "Examples:\n  orrery cluster check mycluster.yaml\n  orrery cluster check infra.json --lenient --json");
  CLI::App* converting =
      add(*command, session, arguments, "convert", "Writes a cluster in another format.", convert);
  add_cluster_argument(converting, *arguments);
  converting->add_option("--to", arguments->to, "infragraph or native");
  converting->add_option("-o,--output", arguments->output, "File to write (default: standard output)");
  converting->footer(
      "Examples:\n  orrery cluster convert hgx-h100 --to infragraph -o hgx.yaml\n  orrery cluster convert "
      "infra.json --to native");
  command->footer(
      "Examples:\n  orrery cluster list\n  orrery cluster show hgx-h100 --svg hgx.svg\n  orrery cluster "
      "check mycluster.yaml");
}

}  // namespace orrery::cli
