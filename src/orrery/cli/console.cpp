// SPDX-License-Identifier: Apache-2.0
#include "orrery/cli/console.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>

#include "orrery/base/error.hpp"

namespace orrery::cli {
namespace {

volatile std::sig_atomic_t received_signal = 0;  // The one global: a signal handler can reach nothing else.

void remember_signal(int number) { received_signal = number; }

/// False when it could not all be written; errno says why.
bool write_all(int descriptor, std::string_view text) {
  while (!text.empty()) {
    const ssize_t written = ::write(descriptor, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
  return true;
}

/// Columns a UTF-8 text takes on the terminal, for the letters we print.
std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(
      std::ranges::count_if(text, [](char c) { return (static_cast<unsigned char>(c) & 0xC0U) != 0x80U; }));
}

}  // namespace

void print(std::string_view text) {
  if (write_all(STDOUT_FILENO, text)) return;
  if (errno == EPIPE) throw BrokenPipe{};
  throw InputError{fmt::format("standard output: cannot write: {}", std::strerror(errno))};
}

void print_error(std::string_view text) { static_cast<void>(write_all(STDERR_FILENO, text)); }

void catch_signals() {
  struct sigaction action{};
  action.sa_handler = remember_signal;
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  for (const int number : {SIGINT, SIGTERM}) ::sigaction(number, &action, nullptr);
  struct sigaction ignore{};
  ignore.sa_handler = SIG_IGN;
  for (const int number : {SIGPIPE, SIGXFSZ}) ::sigaction(number, &ignore, nullptr);
}

bool was_interrupted() { return received_signal != 0; }

int interrupted_exit_code() { return 128 + (received_signal == 0 ? SIGINT : received_signal); }

Progress::Progress(bool is_quiet)
    : is_quiet_{is_quiet},
      is_terminal_{::isatty(STDERR_FILENO) == 1},
      began_{std::chrono::steady_clock::now()},
      shown_{began_} {}

Progress::~Progress() {
  if (has_bar_) print_error("\r\x1b[K");
}

void Progress::update(std::size_t done, std::size_t total) {
  using std::chrono::seconds;
  if (is_quiet_ || total == 0) return;
  const auto now = std::chrono::steady_clock::now();
  if (is_terminal_) {
    if (now - began_ < seconds{1} || now - shown_ < std::chrono::milliseconds{100}) return;
    constexpr std::size_t kWidth = 40;
    const std::size_t filled = kWidth * done / total;
    print_error(fmt::format("\r[{}{}] {}/{}\x1b[K", std::string(filled, '#'),
                            std::string(kWidth - filled, '.'), done, total));
    has_bar_ = true;
  } else {
    if (now - shown_ < pause_) return;
    pause_ = std::min(pause_ * 2, seconds{60});
    print_error(fmt::format("orrery: {} of {} done\n", done, total));
  }
  shown_ = now;
}

std::string format_table(const std::vector<std::string>& heads,
                         const std::vector<std::vector<std::string>>& rows) {
  std::vector<bool> is_left;
  std::vector<std::string> titles;
  std::vector<std::size_t> widths;
  for (const std::string& head : heads) {
    is_left.push_back(head.starts_with('<'));
    titles.push_back(is_left.back() ? head.substr(1) : head);
    widths.push_back(width_of(titles.back()));
  }
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::string text;
  const auto add = [&](const std::vector<std::string>& cells) {
    std::string line;
    for (std::size_t i = 0; i < cells.size(); ++i) {
      const std::string padding(widths[i] - width_of(cells[i]), ' ');
      if (i > 0) line += "  ";
      line += is_left[i] ? cells[i] + padding : padding + cells[i];
    }
    line.erase(line.find_last_not_of(' ') + 1);
    text += line + "\n";
  };
  add(titles);
  for (const auto& row : rows) add(row);
  return text;
}

}  // namespace orrery::cli
