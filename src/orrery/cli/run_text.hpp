// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What `orrery run` shows beside the program's own output.
#include <chrono>
#include <string>

#include "orrery/app/live_run.hpp"
#include "orrery/cli/session.hpp"

namespace orrery::cli {

/// The summary after a run. `folder` is where the results are, or "".
/// The tables of ranks and operations alone.
[[nodiscard]] std::string format_run_tables(const app::LiveResult& result);

[[nodiscard]] std::string format_run(const app::LiveResult& result, const std::string& folder);

/// What every live run of the command line has: the environment's Python, Ctrl-C, messages.
void set_live_defaults(app::LiveOptions& options, const Session& session);

/// One line on a terminal that says how far the clock is.
class RunProgress {
 public:
  /// Silent when asked to be, and where no terminal shows it.
  explicit RunProgress(bool is_quiet);
  ~RunProgress() { clear(); }
  RunProgress(const RunProgress&) = delete;
  RunProgress& operator=(const RunProgress&) = delete;
  void update(const app::LiveProgress& progress);
  void clear();

 private:
  bool is_quiet_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace orrery::cli
