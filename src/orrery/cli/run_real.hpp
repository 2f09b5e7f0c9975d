// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery run --real`: what it shares with a simulated run, and what it prints.
#include <string>

#include "orrery/app/live_run.hpp"
#include "orrery/cli/session.hpp"

namespace CLI {
class App;
}

namespace orrery::cli {

struct RealArguments {
  bool is_real = false;
  std::string repeat = "1";
  std::string link;
};

void add_real_options(CLI::App& command, RealArguments& arguments);

/// InputError for options of one kind of run in the other.
void check_real_options(const CLI::App& command, const RealArguments& arguments);

[[nodiscard]] app::LiveResult run_real(const app::LiveOptions& options, const RealArguments& arguments);

[[nodiscard]] std::string format_real(const app::LiveResult& result, const std::string& folder);

}  // namespace orrery::cli
