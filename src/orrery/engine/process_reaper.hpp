// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Processes of the operating system that carry simulated ones: noticed the moment they die, and never left behind.
#include <sys/types.h>

#include <chrono>
#include <latch>
#include <mutex>
#include <thread>
#include <vector>

#include "orrery/engine/external_threads.hpp"

namespace orrery::engine {

/// A thread sleeps in poll() on a descriptor of each child. A child that ends is reaped, and one that had not
/// finished its process ends the run (ProcessHost::mark_dead).
class ProcessReaper : Pinned {
 public:
  explicit ProcessReaper(ProcessHost& host, std::chrono::milliseconds grace = std::chrono::seconds{1});
  /// Closes the host. When for `grace` no child has left by itself, the rest is killed. All are reaped.
  ~ProcessReaper();

  /// `child` carries `process`. It may be somebody else's child (a fork server's): then its end is noticed, but
  /// reaping it, and knowing the reason, is its parent's.
  void watch(ProcessId process, pid_t child);
  /// Forks a child that runs `body` and exits; it never returns into the caller's code. Exit status 1 and a line on
  /// standard error when an exception leaves `body`.
  pid_t fork(ProcessId process, const ExternalBody& body);

 private:
  struct Child {
    ProcessId process;
    int descriptor;  // pidfd.
  };
  void loop();
  void reap(const Child& child);
  void kill_all();

  ProcessHost& host_;
  std::chrono::milliseconds grace_;
  int wake_;  // eventfd: the list has changed, or it is time to stop.
  std::mutex mutex_;
  std::vector<Child> children_;
  bool stops_ = false;
  std::latch is_up_{1};  // A fork amid the birth of the thread would copy the locks that takes.
  std::thread thread_;
};

}  // namespace orrery::engine
