// SPDX-License-Identifier: Apache-2.0
#include "orrery/engine/process_reaper.hpp"

#include <poll.h>
#include <sys/eventfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <system_error>

namespace orrery::engine {
namespace {

[[noreturn]] void fail(const char* what) { throw std::system_error{errno, std::generic_category(), what}; }

std::string reason_of(const siginfo_t& info) {
  if (info.si_code == CLD_EXITED) {
    return fmt::format("its program exited with status {} before its end", info.si_status);
  }
  return fmt::format("its program was killed by signal {} ({})", info.si_status, ::strsignal(info.si_status));
}

/// The life of a forked child, to its exit status.
int run_child(ExternalRegion& region, std::uint32_t slot, const ExternalBody& body) noexcept {
  try {
    ExternalPort port{region, slot};
    port.start();
    body(port);
    port.finish();
    return 0;
  } catch (const PortClosed&) {
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "orrery: {}\n", error.what());
  } catch (...) {
    fmt::print(stderr, "orrery: an exception of unknown type\n");
  }
  return 1;
}

}  // namespace

ProcessReaper::ProcessReaper(ProcessHost& host, std::chrono::milliseconds grace)
    : host_{host}, grace_{grace}, wake_{::eventfd(0, EFD_CLOEXEC)} {
  if (wake_ < 0) fail("eventfd");
  // Signals are for the thread that waits for programs: it must see an interrupt.
  sigset_t all;
  sigset_t before;
  ::sigfillset(&all);
  ::pthread_sigmask(SIG_SETMASK, &all, &before);
  thread_ = std::thread{[this] {
    is_up_.count_down();
    loop();
  }};
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  is_up_.wait();
}

ProcessReaper::~ProcessReaper() {
  host_.close();
  {
    const std::scoped_lock lock{mutex_};
    stops_ = true;
  }
  ::eventfd_write(wake_, 1);
  thread_.join();
  ::close(wake_);
}

void ProcessReaper::watch(ProcessId process, pid_t child) {
  const long descriptor = ::syscall(SYS_pidfd_open, child, 0);
  if (descriptor < 0) fail("pidfd_open");
  {
    const std::scoped_lock lock{mutex_};
    children_.push_back({process, static_cast<int>(descriptor)});
  }
  ::eventfd_write(wake_, 1);
}

pid_t ProcessReaper::fork(ProcessId process, const ExternalBody& body) {
  pid_t child = -1;
  {
    // Our thread is now in poll() or waits for this lock: it holds no other one (of the allocator, say) that the
    // child would inherit locked for ever.
    const std::scoped_lock lock{mutex_};
    child = ::fork();
    if (child == 0) ::_exit(run_child(host_.region(), host_.slot(process), body));
  }
  if (child < 0) fail("fork");
  watch(process, child);
  return child;
}

void ProcessReaper::loop() {
  std::vector<pollfd> polled;
  for (;;) {
    int timeout = -1;
    {
      const std::scoped_lock lock{mutex_};
      if (stops_ && children_.empty()) return;
      if (stops_) timeout = static_cast<int>(grace_.count());
      polled.assign(1, {.fd = wake_, .events = POLLIN, .revents = 0});
      for (const Child& child : children_) {
        polled.push_back({.fd = child.descriptor, .events = POLLIN, .revents = 0});
      }
    }
    const int ready = ::poll(polled.data(), polled.size(), timeout);
    const std::scoped_lock lock{mutex_};
    if (ready == 0) kill_all();
    if (polled.front().revents != 0) {
      eventfd_t ignored = 0;
      ::eventfd_read(wake_, &ignored);
    }
    // Children may have been added meanwhile, at the end only.
    for (std::size_t i = polled.size() - 1; i > 0; --i) {
      if (polled[i].revents == 0) continue;
      reap(children_[i - 1]);
      children_.erase(children_.begin() + static_cast<std::ptrdiff_t>(i - 1));
    }
  }
}

void ProcessReaper::reap(const Child& child) {
  siginfo_t info{};
  const bool is_ours = ::waitid(P_PIDFD, static_cast<id_t>(child.descriptor), &info, WEXITED) == 0;
  ::close(child.descriptor);
  host_.mark_dead(child.process, is_ours ? reason_of(info) : "its program ended before it did");
}

void ProcessReaper::kill_all() {
  for (const Child& child : children_) {
    ::syscall(SYS_pidfd_send_signal, child.descriptor, SIGKILL, nullptr, 0);
  }
}

}  // namespace orrery::engine
