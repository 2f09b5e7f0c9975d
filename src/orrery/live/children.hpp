// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The processes of a run: every one is a descendant of ours, noticed the moment it ends or stops, and gone when we
/// are, whatever ends us.
#include <sys/types.h>

#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "orrery/base/pinned.hpp"

namespace orrery::live {

struct ChildEvent {
  pid_t process = 0;
  bool has_stopped = false;  ///< By a signal; it still exists.
  int status = 0;            ///< Exit status, or the signal's number.
  bool was_killed = false;
  bool is_known = true;  ///< False: it was another's child, and nobody told us its status.
};

/// "exited with status 3", "was killed by signal 9 (Killed)".
[[nodiscard]] std::string to_text(const ChildEvent& event);

/// One per program: makes this process the parent of all orphans below it.
class Children : Pinned {
 public:
  /// `told` is called from a thread of its own.
  explicit Children(std::function<void(const ChildEvent&)> told);
  /// Ends everybody: at once those that `grace` has not seen leaving by themselves.
  ~Children();

  /// Starts a program in a new process group, which its descendants share unless they leave it. Descriptors of `kept`
  /// stay open in it; standard input is empty, standard output is `output`. InputError when it cannot be started.
  pid_t start(const std::vector<std::string>& words, const std::vector<std::string>& environment,
              const std::vector<int>& kept, int output);
  /// From now on `told` hears of this process, too, although it may be the child of another one. After start().
  void watch(pid_t process);
  /// Waits for all to leave by themselves; kills those that are left after `grace`. True when none had to be.
  bool finish(std::chrono::milliseconds grace);
  void kill_all() const;

 private:
  struct Watched {
    pid_t process = 0;
    int descriptor = -1;  // Readable when it has ended.
    bool has_stopped = false;
  };
  void loop();
  void loop_watched();
  void start_guardian();
  /// Once for every process that is watched: it may be our child as well, or become it.
  void tell(const ChildEvent& event);

  std::function<void(const ChildEvent&)> told_;
  std::string mark_;  // In the environment of all descendants, whatever group they are in.
  pid_t group_ = 0;
  int guardian_pipe_ = -1;
  std::mutex mutex_;
  bool is_started_ = false;
  bool is_empty_ = false;
  std::vector<Watched> watched_;
  std::unordered_map<pid_t, bool> has_ended_;  // Of those watched.
  int watch_wake_ = -1;                        // eventfd.
  bool is_watching_ = false;
  std::thread thread_;
  std::thread watcher_;
};

}  // namespace orrery::live
