// SPDX-License-Identifier: Apache-2.0
#include <CLI/CLI.hpp>
#include <memory>

#include "orrery/app/real_run.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/run_real.hpp"
#include "orrery/cli/session.hpp"

namespace orrery::cli {
namespace {

constexpr const char* kExamples =
    R"(RECORDS holds rank.0.record, rank.1.record, ...; or a folder of those for each launch.

Examples:
  torchrun --nnodes 2 --nproc-per-node 1 --rdzv-endpoint a:29500 -m orrery.record --out records train.py
  orrery merge records --out measured
      clocks of the hosts are put together by the ends of the collectives they share
  orrery compare predicted measured)";

struct Arguments {
  std::string records;
  std::string output;
  bool is_json = false;
};

}  // namespace

void add_merge(CLI::App& root, Session& session) {
  CLI::App* command = root.add_subcommand("merge", "What ranks noted under torchrun, as one result.");
  const auto arguments = std::make_shared<Arguments>();
  command->add_option("records", arguments->records, "Folder of rank.N.record")
      ->required()
      ->type_name("RECORDS");
  command->add_option("--out", arguments->output, "Folder for result.json, events.csv; must not exist")
      ->type_name("FOLDER");
  command->add_flag("--json", arguments->is_json, "Print JSON and nothing else");
  command->footer(kExamples);
  command->callback([arguments, &session] {
    session.action = [arguments, &session] {
      const app::LiveResult result = app::merge_records(arguments->records, arguments->output, session.words);
      print(arguments->is_json ? app::to_json(result) : format_real(result, arguments->output));
    };
  });
}

}  // namespace orrery::cli
