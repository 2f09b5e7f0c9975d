// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/children.hpp"

#include <dirent.h>
#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/random.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <sstream>
#include <utility>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"

namespace orrery::live {
namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> all;
  for (const std::string& word : words) all.push_back(const_cast<char*>(word.c_str()));
  all.push_back(nullptr);
  return all;
}

/// The entries of a folder of /proc that are numbers.
std::vector<pid_t> numbers_in(const char* folder) {
  std::vector<pid_t> numbers;
  DIR* const entries = ::opendir(folder);
  if (entries == nullptr) return numbers;
  while (const dirent* entry = ::readdir(entries)) {
    if (const auto number = parse_integer(entry->d_name)) numbers.push_back(static_cast<pid_t>(*number));
  }
  ::closedir(entries);
  return numbers;
}

/// A line for the environment that no other run has.
std::string make_mark() {
  std::uint64_t word = 0;
  [[maybe_unused]] const ssize_t got = ::getrandom(&word, sizeof word, 0);
  return fmt::format("ORRERY_RUN={}-{:016x}", ::getpid(), word);
}

bool has_mark(pid_t process, const std::string& mark) {
  std::ifstream file{fmt::format("/proc/{}/environ", process), std::ios::binary};
  const std::string environment{std::istreambuf_iterator<char>{file}, {}};
  return environment.find(mark) != std::string::npos;
}

/// Ends whoever has the mark, until nobody has it; gives up after seconds on one that the kernel does not let end.
void end_marked(const std::string& mark) {
  constexpr int kRounds = 500;
  constexpr useconds_t kPause = 10'000;
  for (int round = 0; round < kRounds; ++round) {
    bool is_any_left = false;
    for (const pid_t process : numbers_in("/proc")) {
      if (!has_mark(process, mark)) continue;
      ::kill(process, SIGKILL);
      is_any_left = true;
    }
    if (!is_any_left) return;
    ::usleep(kPause);
  }
}

/// Children that live in groups of their own: descendants that had left ours when their parents ended.
void kill_adopted() {
  for (const pid_t thread : numbers_in("/proc/self/task")) {
    std::ifstream children{fmt::format("/proc/self/task/{}/children", thread)};
    for (pid_t child = 0; children >> child;) ::kill(child, SIGKILL);
  }
}

/// Outlives us by a moment: when the pipe closes because we are gone, however that happened, it ends our group, and by
/// the mark those that have left it, which are nobody's children any more.
[[noreturn]] void guard(int pipe, const std::string& mark) {
  ::setsid();
  // Nothing may keep somebody's pipe open for longer than we live, and no signal to us is meant for it.
  ::dup2(pipe, 3);
  ::syscall(SYS_close_range, 4U, ~0U, 0U);
  const int null = ::open("/dev/null", O_RDWR);
  for (int standard = 0; standard < 3; ++standard) ::dup2(null, standard);
  for (pid_t group = 0, next = 0;;) {
    const ssize_t got = ::read(3, &next, sizeof next);
    if (got == static_cast<ssize_t>(sizeof next)) {
      group = next;
    } else if (got >= 0 || errno != EINTR) {
      if (group > 0) ::kill(-group, SIGKILL);
      end_marked(mark);
      ::_exit(0);
    }
  }
}

/// Signals are for the thread that simulates.
std::thread start_deaf(std::function<void()> body) {
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  std::thread thread{std::move(body)};
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread;
}

/// What /proc says of a process: 'Z' when it has ended and its parent has not asked, 0 when it is gone.
struct Stat {
  char state = 0;
  int exit_code = 0;
};

Stat stat_of(pid_t process) {
  std::ifstream file{fmt::format("/proc/{}/stat", process)};
  std::string line;
  std::getline(file, line);
  const std::size_t name_end = line.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream rest{line.substr(name_end + 1)};
  Stat stat;
  rest >> stat.state;
  constexpr int kBetween = 48;  // Fields 4 to 51.
  std::string ignored;
  for (int i = 0; i < kBetween; ++i) rest >> ignored;
  rest >> stat.exit_code;
  return stat;
}

ChildEvent end_of(pid_t process) {
  const Stat stat = stat_of(process);
  ChildEvent event;
  event.process = process;
  event.is_known = stat.state == 'Z';
  event.was_killed = WIFSIGNALED(stat.exit_code);
  event.status = event.was_killed ? WTERMSIG(stat.exit_code) : WEXITSTATUS(stat.exit_code);
  return event;
}

}  // namespace

std::string to_text(const ChildEvent& event) {
  if (!event.is_known) return "ended before its time";
  if (event.has_stopped) {
    return fmt::format("was stopped by signal {} ({})", event.status, ::strsignal(event.status));
  }
  if (event.was_killed) {
    // Virtual machines announce matrix instructions that do not work there; torch dies of them, simulated or not.
    const char* hint = event.status == SIGILL
                           ? "; if torch alone dies of it, too, set ONEDNN_MAX_CPU_ISA=AVX512_CORE_FP16"
                           : "";
    return fmt::format("was killed by signal {} ({}){}", event.status, ::strsignal(event.status), hint);
  }
  return fmt::format("exited with status {}", event.status);
}

Children::Children(std::function<void(const ChildEvent&)> told) : told_{std::move(told)}, mark_{make_mark()} {
  ::prctl(PR_SET_CHILD_SUBREAPER, 0);  // Of an earlier run of this process.
  start_guardian();  // First: it must not become a child of ours, for whose end we would wait.
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
}

Children::~Children() {
  if (is_started_) finish(std::chrono::milliseconds{0});
  if (guardian_pipe_ >= 0) ::close(guardian_pipe_);
}

pid_t Children::start(const std::vector<std::string>& words, const std::vector<std::string>& environment,
                      const std::vector<int>& kept, int output) {
  const std::vector<char*> arguments = pointers(words);
  std::vector<std::string> marked = environment;
  marked.push_back(mark_);
  const std::vector<char*> variables = pointers(marked);
  int problem[2];
  if (::pipe2(problem, O_CLOEXEC) != 0) throw InputError{fmt::format("pipe: {}", std::strerror(errno))};
  const pid_t child = ::fork();
  if (child == 0) {
    ::setpgid(0, 0);
    const int null = ::open("/dev/null", O_RDONLY);
    ::dup2(null, 0);
    ::dup2(output, 1);
    for (const int descriptor : kept) ::fcntl(descriptor, F_SETFD, 0);
    ::signal(SIGPIPE, SIG_DFL);
    ::signal(SIGINT, SIG_DFL);
    ::signal(SIGTERM, SIG_DFL);
    sigset_t none;
    ::sigemptyset(&none);
    ::sigprocmask(SIG_SETMASK, &none, nullptr);
    ::execve(arguments[0], arguments.data(), variables.data());
    const int error = errno;
    [[maybe_unused]] const ssize_t written = ::write(problem[1], &error, sizeof error);
    ::_exit(127);
  }
  const int fork_error = errno;
  ::close(problem[1]);
  int error = child < 0 ? fork_error : 0;
  if (child > 0) {
    ::setpgid(child, child);
    group_ = child;
    [[maybe_unused]] ssize_t got = ::write(guardian_pipe_, &group_, sizeof group_);
    got = ::read(problem[0], &error, sizeof error);
  }
  ::close(problem[0]);
  if (error != 0) {
    if (child > 0) ::waitpid(child, nullptr, 0);
    throw InputError{fmt::format("{}: cannot be started: {}", words.front(), std::strerror(error))};
  }
  is_started_ = true;
  thread_ = start_deaf([this] { loop(); });
  return child;
}

void Children::start_guardian() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw InputError{fmt::format("pipe: {}", std::strerror(errno))};
  const pid_t first = ::fork();
  if (first == 0) {
    ::close(ends[1]);
    if (::fork() == 0) guard(ends[0], mark_);
    ::_exit(0);
  }
  ::close(ends[0]);
  guardian_pipe_ = ends[1];
  if (first > 0) ::waitpid(first, nullptr, 0);
}

void Children::loop() {
  for (;;) {
    siginfo_t info{};
    if (::waitid(P_ALL, 0, &info, WEXITED | WSTOPPED | __WALL) != 0) {
      if (errno == EINTR) continue;
      break;  // ECHILD: nobody is left.
    }
    ChildEvent event;
    event.process = info.si_pid;
    event.status = info.si_status;
    event.has_stopped = info.si_code == CLD_STOPPED || info.si_code == CLD_TRAPPED;
    event.was_killed = info.si_code == CLD_KILLED || info.si_code == CLD_DUMPED;
    tell(event);
  }
  const std::scoped_lock lock{mutex_};
  is_empty_ = true;
}

void Children::tell(const ChildEvent& event) {
  {
    const std::scoped_lock lock{mutex_};
    const auto found = has_ended_.find(event.process);
    if (found != has_ended_.end() && !event.has_stopped && std::exchange(found->second, true)) return;
  }
  told_(event);
}

void Children::watch(pid_t process) {
  const auto descriptor = static_cast<int>(::syscall(SYS_pidfd_open, process, 0));
  const bool is_gone = descriptor < 0 && errno == ESRCH;
  {
    const std::scoped_lock lock{mutex_};
    has_ended_.emplace(process, false);
    if (descriptor >= 0) watched_.push_back({.process = process, .descriptor = descriptor});
  }
  if (is_gone) return tell(end_of(process));
  if (!watcher_.joinable()) {
    watch_wake_ = ::eventfd(0, EFD_CLOEXEC);
    is_watching_ = true;
    watcher_ = start_deaf([this] { loop_watched(); });
  } else {
    ::eventfd_write(watch_wake_, 1);
  }
}

void Children::loop_watched() {
  constexpr int kLook = 500;  // Milliseconds: that a process was stopped, only a look can tell.
  for (;;) {
    std::vector<Watched> watched;
    {
      const std::scoped_lock lock{mutex_};
      if (!is_watching_) return;
      watched = watched_;
    }
    std::vector<pollfd> polled{{.fd = watch_wake_, .events = POLLIN, .revents = 0}};
    for (const Watched& one : watched) {
      polled.push_back({.fd = one.descriptor, .events = POLLIN, .revents = 0});
    }
    const int ready = ::poll(polled.data(), polled.size(), kLook);
    if (eventfd_t ignored = 0; polled[0].revents != 0) ::eventfd_read(watch_wake_, &ignored);
    for (std::size_t i = 0; i < watched.size(); ++i) {
      const bool has_ended = polled[i + 1].revents != 0;
      const bool has_stopped =
          ready == 0 && !watched[i].has_stopped && stat_of(watched[i].process).state == 'T';
      if (!has_ended && !has_stopped) continue;
      {
        const std::scoped_lock lock{mutex_};
        const auto found = std::ranges::find(watched_, watched[i].process, &Watched::process);
        found->has_stopped = has_stopped;
        if (has_ended) {
          ::close(found->descriptor);
          watched_.erase(found);
        }
      }
      tell(has_ended ? end_of(watched[i].process)
                     : ChildEvent{.process = watched[i].process, .has_stopped = true, .status = SIGSTOP});
    }
  }
}

void Children::kill_all() const {
  if (group_ > 0) ::kill(-group_, SIGKILL);
}

bool Children::finish(std::chrono::milliseconds grace) {
  const auto until = std::chrono::steady_clock::now() + grace;
  const auto is_empty = [this] {
    const std::scoped_lock lock{mutex_};
    return is_empty_;
  };
  while (!is_empty() && std::chrono::steady_clock::now() < until) ::usleep(1000);
  const bool is_clean = is_empty();
  // Again and again: somebody may be forking at this moment.
  while (!is_empty()) {
    kill_all();
    kill_adopted();
    ::usleep(1000);
  }
  if (thread_.joinable()) thread_.join();
  if (watcher_.joinable()) {
    {
      const std::scoped_lock lock{mutex_};
      is_watching_ = false;
    }
    ::eventfd_write(watch_wake_, 1);
    watcher_.join();
    ::close(std::exchange(watch_wake_, -1));
    for (const Watched& one : watched_) ::close(one.descriptor);
    watched_.clear();
  }
  is_started_ = false;
  return is_clean;
}

}  // namespace orrery::live
