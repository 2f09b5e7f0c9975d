// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the commands share: each file here adds one command to the parser and, when it is chosen, leaves the
/// work to be done after parsing.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace orrery::cli {

struct Session {
  std::vector<std::string> words;  ///< As typed, program name first.
  std::function<void()> action{};  ///< Of the chosen command.
  int exit_code = 0;               ///< Of the program, when it went well for us.
};

void add_run(CLI::App& root, Session& session);
void add_replay(CLI::App& root, Session& session);
void add_explain(CLI::App& root, Session& session);
void add_trace(CLI::App& root, Session& session);
void add_trace_make(CLI::App& trace, Session& session);
void add_collective(CLI::App& root, Session& session);
void add_merge(CLI::App& root, Session& session);
void add_compare(CLI::App& root, Session& session);
void add_calibrate(CLI::App& root, Session& session);
void add_validate(CLI::App& root, Session& session);
void add_cluster(CLI::App& root, Session& session);
void add_describe(CLI::App& root, Session& session);
void add_device(CLI::App& root, Session& session);
void add_profile_ops(CLI::App& root, Session& session);
void add_demo(CLI::App& root, Session& session);
void add_completion(CLI::App& root, Session& session);

/// `text` as a whole number; InputError names `option`.
[[nodiscard]] std::int64_t read_integer(const std::string& option, const std::string& text);

/// The value of --seed.
[[nodiscard]] std::uint64_t read_seed(const std::string& text);

}  // namespace orrery::cli
