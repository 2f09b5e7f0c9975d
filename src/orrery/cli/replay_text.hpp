// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What `orrery replay` shows.
#include <chrono>
#include <string>

#include "orrery/app/replay.hpp"

namespace orrery::cli {

[[nodiscard]] std::string format_replay(const app::ReplayResult& result);

/// One line on a terminal that says how far the clock is.
class ReplayProgressLine {
 public:
  /// Silent when asked to be, and where no terminal shows it.
  explicit ReplayProgressLine(bool is_quiet);
  ~ReplayProgressLine();
  ReplayProgressLine(const ReplayProgressLine&) = delete;
  ReplayProgressLine& operator=(const ReplayProgressLine&) = delete;
  void update(const app::ReplayProgress& progress);

 private:
  bool is_quiet_;
  bool is_shown_ = false;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace orrery::cli
