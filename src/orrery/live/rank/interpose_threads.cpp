// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/interpose_threads.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>

#include "orrery/live/rank/interpose_state.hpp"

namespace orrery::live {
namespace {

class KeepErrno {
 public:
  KeepErrno() = default;
  ~KeepErrno() { errno = saved_; }
  KeepErrno(const KeepErrno&) = delete;
  KeepErrno& operator=(const KeepErrno&) = delete;

 private:
  int saved_ = errno;
};

/// The state letter of a thread, or '?' when there is no such thread.
char state_of(const char* thread) {
  char path[64] = "/proc/self/task/";
  if (std::strlen(path) + std::strlen(thread) + sizeof "/stat" > sizeof path) return '?';
  std::strcat(std::strcat(path, thread), "/stat");
  const int file = ::open(path, O_RDONLY | O_CLOEXEC);
  if (file < 0) return '?';
  char line[256];
  const ssize_t size = ::read(file, line, sizeof line - 1);
  ::close(file);
  if (size <= 0) return '?';
  line[size] = '\0';
  const char* name_end = std::strrchr(line, ')');  // The name itself may hold anything.
  return name_end != nullptr && name_end[1] == ' ' ? name_end[2] : '?';
}

/// A thread's number as text.
struct ThreadName {
  char text[16]{};
  explicit ThreadName(std::int64_t thread) { std::to_chars(text, text + sizeof text - 1, thread); }
};

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

bool is_other_thread_runnable() {
  const KeepErrno keep;
  DIR* threads = ::opendir("/proc/self/task");
  if (threads == nullptr) return false;
  const ThreadName self{::syscall(SYS_gettid)};
  bool is_runnable = false;
  while (const dirent* entry = ::readdir(threads)) {
    if (entry->d_name[0] == '.' || std::strcmp(entry->d_name, self.text) == 0) continue;
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

std::int64_t cpu_of(pid_t thread) {
  const KeepErrno keep;
  // The kernel's name for a thread's CPU clock; see pthread_getcpuclockid(), which wants a handle instead.
  const auto clock = static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3) | 6U);
  timespec time{};
  return real_clock_gettime(clock, &time) == 0 ? to_ns(time) : -1;
}

bool is_asleep(pid_t thread) {
  const KeepErrno keep;
  return state_of(ThreadName{thread}.text) == 'S';
}

}  // namespace orrery::live
