// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What `orrery run` shows beside the program's own output.
#include <chrono>
#include <string>

#include "orrery/live/run.hpp"

namespace orrery::cli {

/// The summary after a run. `folder` is where the results are, or "".
[[nodiscard]] std::string format_run(const live::RunResult& result, const std::string& folder);

/// One line on a terminal that says how far the clock is.
class RunProgress {
 public:
  explicit RunProgress(bool is_quiet) : is_quiet_{is_quiet}, began_{std::chrono::steady_clock::now()} {}
  ~RunProgress() { clear(); }
  RunProgress(const RunProgress&) = delete;
  RunProgress& operator=(const RunProgress&) = delete;
  void update(const live::Progress& progress);
  void clear();

 private:
  bool is_quiet_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace orrery::cli
