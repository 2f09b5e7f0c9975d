// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <memory>

#include "orrery/app/output_check.hpp"
#include "orrery/app/trace_check.hpp"
#include "orrery/app/trace_convert.hpp"
#include "orrery/app/trace_info.hpp"
#include "orrery/base/byte_sink.hpp"
#include "orrery/base/error.hpp"
#include "orrery/chakra/trace_files.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/session.hpp"
#include "orrery/cli/trace_text.hpp"

namespace orrery::cli {
namespace {

struct Arguments {
  std::string trace;
  std::string comm_groups;
  std::string to;
  std::string output;
  bool is_json = false;
};

class ConsoleSink final : public ByteSink {
 public:
  void write(std::string_view data) override {
    constexpr std::size_t kBatch = 1U << 16U;
    pending_.append(data);
    if (pending_.size() >= kBatch) commit();
  }
  void commit() override {
    print(pending_);
    pending_.clear();
  }

 private:
  std::string pending_;
};

void info(const Arguments& arguments, Session&) {
  const app::TraceInfo info = app::trace_info(arguments.trace);
  print(arguments.is_json ? to_json(info) : info_text(info));
}

void check(const Arguments& arguments, Session& session) {
  const app::TraceCheck check = app::trace_check(arguments.trace, arguments.comm_groups);
  print(arguments.is_json ? to_json(check) : check_text(check));
  session.exit_code = check.problems.exit_code();
}

void report(const Arguments& arguments, const std::vector<app::ConvertedFile>& files) {
  if (arguments.is_json) return print(to_json(files));
  std::uint64_t nodes = 0;
  for (const app::ConvertedFile& file : files) nodes += file.nodes;
  const std::string& first = files.front().output;
  print(files.size() == 1
            ? fmt::format("{}: {} nodes\n", first, nodes)
            : fmt::format("{} to {}: {} files, {} nodes\n", first, files.back().output, files.size(), nodes));
}

void json(const Arguments& arguments, Session&) {
  if (!arguments.output.empty()) {
    const bool is_file = chakra::find_traces(arguments.trace).is_single;
    return report(arguments, app::convert_traces(arguments.trace, arguments.output, is_file ? "" : "json"));
  }
  const chakra::TraceFiles files = chakra::find_traces(arguments.trace);
  if (files.paths.size() > 1) {
    throw InputError{fmt::format("{}: a trace of {} files; name one, or say with -o where to put them all",
                                 arguments.trace, files.paths.size())};
  }
  ConsoleSink sink;
  app::trace_json(files.paths.front(), sink);
  sink.commit();
}

void convert(const Arguments& arguments, Session&) {
  if (arguments.output.empty()) {
    throw InputError{"--output: expected the file, or the prefix of the files, to write"};
  }
  report(arguments, app::convert_traces(arguments.trace, arguments.output, arguments.to));
}

using Action = void (*)(const Arguments&, Session&);

CLI::App* add(CLI::App& parent, Session& session, const std::shared_ptr<Arguments>& arguments,
              const char* name, const char* help, Action action) {
  CLI::App* command = parent.add_subcommand(name, help);
  command->add_option("trace", arguments->trace, "A file, a folder, or the prefix of <prefix>.<rank>.et");
  command->add_flag("--json", arguments->is_json, "Print JSON and nothing else");
  command->callback([arguments, &session, action] {
    session.action = [arguments, action, &session] { action(*arguments, session); };
  });
  return command;
}

void add_reading(CLI::App& command, Session& session, const std::shared_ptr<Arguments>& arguments) {
  add(command, session, arguments, "info", "What is in a trace, per rank and in total.", info)
      ->footer("Examples:\n  orrery trace info traces/gpt\n  orrery trace info traces/gpt.0.et --json");
  CLI::App* checking = add(command, session, arguments, "check",
                           "Whether a trace can run to its end; all that keeps it from it.", check);
  checking->add_option("--comm-group", arguments->comm_groups,
                       "File of process groups: {\"1\": [0, 1], ...}");
  checking->footer(
      "Exit code: 0 without problems, 2 when the trace is malformed, 3 when it would get stuck.\n\n"
      "Examples:\n  orrery trace check traces/gpt\n  orrery trace check traces/ --comm-group groups.json "
      "--json");
}

void add_writing(CLI::App& command, Session& session, const std::shared_ptr<Arguments>& arguments) {
  CLI::App* showing = add(command, session, arguments, "json", "A trace as JSON, without loss.", json);
  showing->add_option("-o,--output", arguments->output,
                      "File, or prefix of files, to write (default: standard output)");
  showing->footer(
      "Examples:\n  orrery trace json traces/gpt.0.et | less\n  orrery trace json traces/gpt -o "
      "readable/gpt");
  CLI::App* converting =
      add(command, session, arguments, "convert", "Writes a trace in another form.", convert);
  converting->add_option("-o,--output", arguments->output, "File, or prefix of files, to write");
  converting->add_option("--to", arguments->to, "et, et.gz, json or json.gz (of files: what the name says)");
  converting->footer(
      "Examples:\n  orrery trace convert readable/gpt -o traces/gpt --to et.gz\n  orrery trace convert "
      "gpt.0.json -o "
      "gpt.0.et");
}

}  // namespace

void add_trace(CLI::App& root, Session& session) {
  CLI::App* command =
      root.add_subcommand("trace", "Look into, check, convert and make Chakra execution traces.");
  const auto arguments = std::make_shared<Arguments>();
  add_reading(*command, session, arguments);
  add_writing(*command, session, arguments);
  add_trace_make(*command, session);
  command->footer(
      "Examples:\n  orrery trace info traces/gpt\n  orrery trace check traces/gpt\n  orrery trace json "
      "traces/gpt.0.et");
}

}  // namespace orrery::cli
