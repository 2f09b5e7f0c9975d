// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Before the clock starts: processes of the run connect and say which rank they are, until the world is complete.
#include <sys/types.h>

#include <atomic>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "orrery/live/children.hpp"
#include "orrery/live/join.hpp"

namespace orrery::live {

class Gathering : Pinned {
 public:
  Gathering();
  ~Gathering();

  /// For the environment of the processes (kLiveVariable).
  [[nodiscard]] std::string address() const;
  /// The launcher's end of a socket on which it tells what it does; inherited by it.
  [[nodiscard]] int launcher_descriptor() const { return launcher_; }
  /// From any thread: something happened to a child.
  void tell(const ChildEvent& event);

  struct Member {
    int rank = -1;
    pid_t process = 0;
    int connection = -1;
  };
  struct Options {
    std::optional<int> world;  ///< Number of ranks; none = the first to join says it.
    int most = 0;              ///< Ranks that the cluster has.
    std::string cluster;       ///< Its name, for messages.
    pid_t root = 0;            ///< The process that was started.
    std::function<bool()> wants_stop;
    std::function<void(const std::string&)> say;  ///< What is going on, when it takes long.
  };
  /// Sleeps until all ranks have joined: from then on nobody can connect. Empty when the program ended without ever
  /// joining (then `root_status`). InputError or SimulationError when the world cannot become complete.
  std::vector<Member> wait(const Options& options);
  /// Lets a member go on.
  static void reply(Member& member, const JoinReply& reply);
  /// What was told since the world was complete: nobody has looked at it.
  [[nodiscard]] std::deque<ChildEvent> take_events();
  /// Exit status of the program, once it has ended.
  [[nodiscard]] std::optional<ChildEvent> root_end() const { return root_end_; }
  /// Rank of a process, as the launcher or the process itself said; -1 when it is none.
  [[nodiscard]] int rank_of(pid_t process) const;

 private:
  void accept_one(const Options& options);
  void read_launcher();
  void check_events(const Options& options);
  /// Now it is known which rank this process is, or was.
  void claim(pid_t process, int rank);
  [[nodiscard]] bool is_complete() const;
  [[nodiscard]] std::string missing_text() const;

  std::string name_;
  int listener_ = -1;
  int control_ = -1;   // Our end.
  int launcher_ = -1;  // The launcher's.
  int wake_ = -1;      // eventfd.
  mutable std::mutex mutex_;
  std::deque<ChildEvent> events_;
  std::vector<ChildEvent> unclaimed_;  // Ends of processes of which we have not heard who they were.
  std::unordered_map<pid_t, int> rank_of_;
  std::vector<Member> members_;
  int world_ = 0;
  std::optional<ChildEvent> root_end_;
};

}  // namespace orrery::live
