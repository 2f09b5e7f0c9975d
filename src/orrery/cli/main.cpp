// SPDX-License-Identifier: Apache-2.0
// Exit codes: 0 done, 2 the user's mistake, 3 the simulated program failed, 70 a bug of ours, 130 interrupted.
#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <new>
#include <sstream>
#include <string>

#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/memory.hpp"
#include "orrery/base/text.hpp"
#include "orrery/cli/console.hpp"
#include "orrery/cli/session.hpp"
#include "orrery/engine/engine.hpp"
#include "orrery/version.hpp"

namespace {

using namespace orrery;

constexpr int kInputError = 2;
constexpr int kSimulationError = 3;
constexpr int kBug = 70;
constexpr int kBrokenPipe = 141;  // What a shell shows for a program that SIGPIPE ended.

/// The command that was reached before the mistake.
const CLI::App& deepest(const CLI::App& app) {
  const CLI::App* at = &app;
  for (auto chosen = at->get_subcommands(); !chosen.empty(); chosen = at->get_subcommands()) {
    at = chosen.back();
  }
  return *at;
}

std::string full_name(const CLI::App& app) {
  return app.get_parent() == nullptr ? app.get_name() : full_name(*app.get_parent()) + " " + app.get_name();
}

std::vector<std::string> command_names(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

/// What is wrong with a word that no command or option took.
InputError unexpected(const CLI::App& app, const std::string& word) {
  InputProblem problem;
  problem.value = word.substr(0, word.find('='));
  if (word.starts_with('-')) {
    std::vector<std::string> names;
    for (const CLI::Option* option : app.get_options()) {
      for (const std::string& name : option->get_lnames()) names.push_back("--" + name);
    }
    problem.expected = fmt::format("unknown option; '{} --help' shows all", full_name(app));
    problem.nearest = nearest_name(problem.value, names);
  } else if (const std::vector<std::string> names = command_names(app); !names.empty()) {
    problem.expected = "unknown command; expected one of: " + join(names, ", ");
    problem.nearest = nearest_name(word, names);
  } else {
    problem.expected = fmt::format("unexpected argument; '{} --help' shows how it is used", full_name(app));
  }
  return InputError{problem};
}

InputError explain(const CLI::App& app, const CLI::ParseError& error) {
  const CLI::App& at = deepest(app);
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::ExtrasError)) {
    const std::vector<std::string> rest = app.remaining(true);
    if (!rest.empty()) return unexpected(at, rest.front());
  }
  std::string text = error.what();
  std::ranges::replace(text, '\n', ' ');
  return InputError{text};
}

/// Parses, and does what the chosen command left to do; the exit code.
int run(int argc, char** argv) {
  CLI::App app{"Orrery: a deterministic simulator for distributed AI.", "orrery"};
  app.set_version_flag("--version", fmt::format("orrery {} ({})", kVersion, commit()));
  app.footer(
      "'orrery COMMAND --help' shows the options of a command with examples. Start with 'orrery demo'.");
  cli::Session session;
  session.words.assign(argv, argv + argc);
  if (!session.words.empty()) session.words[0] = "orrery";
  cli::add_run(app, session);
  cli::add_replay(app, session);
  cli::add_explain(app, session);
  cli::add_trace(app, session);
  cli::add_collective(app, session);
  cli::add_merge(app, session);
  cli::add_compare(app, session);
  cli::add_calibrate(app, session);
  cli::add_validate(app, session);
  cli::add_cluster(app, session);
  cli::add_describe(app, session);
  cli::add_device(app, session);
  cli::add_profile_ops(app, session);
  cli::add_demo(app, session);
  cli::add_completion(app, session);
  try {
    app.parse(argc, argv);
  } catch (const CLI::Success& wish) {  // --help and --version.
    std::ostringstream text;
    app.exit(wish, text, text);
    cli::print(text.str());
    return 0;
  } catch (const CLI::ParseError& error) {
    throw explain(app, error);
  }
  if (!session.action) {
    const CLI::App& at = deepest(app);
    throw InputError{fmt::format("{}: expected a command: {}; '{} --help' says what each does", full_name(at),
                                 join(command_names(at), ", "), full_name(at))};
  }
  session.action();
  return session.exit_code;
}

int fail(int code, std::string_view kind, std::string text) {
  while (text.ends_with('\n')) text.pop_back();
  cli::print_error(fmt::format("orrery: {}: {}\n", kind, text));
  return code;
}

}  // namespace

int main(int argc, char** argv) {
  prepare_heap();
  cli::catch_signals();
  try {
    return run(argc, argv);
  } catch (const InputError& error) {
    return fail(kInputError, "error", error.what());
  } catch (const SimulationError& error) {
    return fail(kSimulationError, "simulation failed", error.what());
  } catch (const engine::Interrupted&) {
    return fail(cli::interrupted_exit_code(), "interrupted", "nothing was written");
  } catch (const cli::BrokenPipe&) {
    return kBrokenPipe;
  } catch (const std::bad_alloc&) {
    return fail(kInputError, "error", "not enough memory for this cluster and these options");
  } catch (const std::exception& error) {
    return fail(kBug, "bug, please report it", error.what());
  }
}
