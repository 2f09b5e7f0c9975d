// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/interpose_patience.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace orrery::live {
namespace {

constexpr std::int64_t kStep = 1'000'000;
constexpr std::int64_t kOutsideStep = 50'000'000;
constexpr std::int64_t kIdle = 4'000'000;
/// Less CPU time than this between two looks is our own reading of two clocks, one after the other.
constexpr std::int64_t kClockSkew = 20'000;

/// Keeps the caller's errno: we ask the system things that it did not.
class KeepErrno {
 public:
  KeepErrno() = default;
  ~KeepErrno() { errno = saved_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int saved_ = errno;
};

/// The state of a thread: the letter after the last ')' of its stat line (names may hold anything).
char state_of(const char* thread) {
  char path[64] = "/proc/self/task/";
  const std::size_t used = std::strlen(path);
  if (std::strlen(thread) + used + sizeof "/stat" > sizeof path) return '?';
  std::strcat(std::strcat(path, thread), "/stat");
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return '?';
  char line[256];
  const ssize_t size = ::read(file, line, sizeof line - 1);
  ::close(file);
  if (size <= 0) return '?';
  line[size] = '\0';
  const char* name_end = std::strrchr(line, ')');
  return name_end != nullptr && name_end[1] == ' ' ? name_end[2] : '?';
}

/// Whether another thread of this process runs, wants to run, or waits for a disk.
bool is_other_thread_runnable() {
  DIR* threads = ::opendir("/proc/self/task");
  if (threads == nullptr) return false;
  const auto self = static_cast<std::int64_t>(::syscall(SYS_gettid));
  bool is_runnable = false;
  while (const dirent* entry = ::readdir(threads)) {
    if (entry->d_name[0] == '.') continue;
    std::int64_t thread = 0;
    for (const char* digit = entry->d_name; *digit >= '0' && *digit <= '9'; ++digit) {
      thread = thread * 10 + (*digit - '0');
    }
    if (thread == self) continue;
    const char state = state_of(entry->d_name);
    is_runnable = is_runnable || state == 'R' || state == 'D';
  }
  ::closedir(threads);
  return is_runnable;
}

std::int64_t cpu_of_others() {
  const std::int64_t all = real_clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  return all - real_thread_cpu();
}

}  // namespace

bool has_children() {
  const KeepErrno keep;
  siginfo_t info{};
  return ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
}

bool has_other_threads() {
  const KeepErrno keep;
  // A directory's links count its subdirectories: one per thread, beside "." and the entry in its parent.
  struct stat threads{};
  return ::stat("/proc/self/task", &threads) != 0 || threads.st_nlink > 3;
}

Patience::Patience(std::int64_t limit_ns, bool is_outside_awaited)
    : is_for_threads_{has_other_threads()}, is_for_outside_{is_outside_awaited || has_children()} {
  if (!is_for_threads_ && !is_for_outside_) return;
  idle_since_ = real_now();
  end_ = limit_ns > kForever - idle_since_ ? kForever : idle_since_ + limit_ns;
  others_cpu_ = cpu_of_others();
}

std::int64_t Patience::next_step() {
  if (!is_for_threads_ && !is_for_outside_) return 0;
  const std::int64_t now = real_now();
  const std::int64_t left = end_ - now;
  if (left <= 0) return 0;
  if (is_for_outside_) return std::min(left, kOutsideStep);
  return are_threads_idle(now) ? 0 : std::min(left, kStep);
}

bool Patience::are_threads_idle(std::int64_t now) {
  const KeepErrno keep;
  const std::int64_t cpu = cpu_of_others();
  if (cpu - others_cpu_ > kClockSkew) {
    others_cpu_ = cpu;
    idle_since_ = now;
  }
  if (now - idle_since_ < kIdle) return false;
  // A thread that the host is too busy to run uses no CPU either.
  if (!is_other_thread_runnable()) return true;
  idle_since_ = now;
  return false;
}

}  // namespace orrery::live
