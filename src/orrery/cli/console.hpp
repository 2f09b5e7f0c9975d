// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The terminal: output that arrives whole or is an error, progress, and the user's Ctrl-C.
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace orrery::cli {

/// The reader of our output went away: nothing to say, exit as if SIGPIPE had ended us.
struct BrokenPipe {};

/// Writes all of `text` to standard output. InputError when that fails (a full disk), BrokenPipe when nobody reads.
void print(std::string_view text);
/// To standard error; failures are ignored.
void print_error(std::string_view text);

/// Ctrl-C and SIGTERM set a flag (a second one ends the program at once); SIGPIPE and SIGXFSZ become errors of
/// the write that caused them.
void catch_signals();
[[nodiscard]] bool was_interrupted();
/// 128 and the number of the signal.
[[nodiscard]] int interrupted_exit_code();

/// A bar on a terminal, a line every few seconds elsewhere; nothing for work that is over at once.
class Progress {
 public:
  explicit Progress(bool is_quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;
  void update(std::size_t done, std::size_t total);

 private:
  bool is_quiet_;
  bool is_terminal_;
  bool has_bar_ = false;
  std::chrono::steady_clock::time_point began_;
  std::chrono::steady_clock::time_point shown_;
  std::chrono::seconds pause_{5};  // Before the next line; grows, so that a long run stays readable.
};

/// Columns aligned by blanks. A column is flushed right unless its head starts with '<', which is not shown.
[[nodiscard]] std::string format_table(const std::vector<std::string>& heads,
                                       const std::vector<std::vector<std::string>>& rows);

}  // namespace orrery::cli
