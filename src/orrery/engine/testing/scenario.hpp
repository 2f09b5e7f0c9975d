// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Random programs that exchange messages, for proving that it does not matter what carries them.
///
/// A scenario is made as one global sequence of actions in which every send stands before its receive and every
/// barrier before what follows it, then dealt out to the processes. Sends do not block, so it cannot deadlock,
/// unless a send is taken away. What a process computes depends on all that it has been answered, so any
/// difference in order or time spreads to everything after it.
#include <cstdint>
#include <vector>

#include "orrery/base/units.hpp"
#include "orrery/engine/call.hpp"

namespace orrery::engine::testing {

enum Operation : std::uint32_t {
  kSend,          ///< (target, tag, bytes): answered at once.
  kReceive,       ///< (source or kAny, tag): answered with the sequence number of the message.
  kStartSend,     ///< As kSend, answered with a handle that completes on delivery.
  kStartReceive,  ///< As kReceive, answered with a handle.
  kWaitAny,       ///< (up to 4 handles or -1): answered with the handle that completed first.
  kBarrier,       ///< (group).
  kSleep,         ///< (picoseconds).
};
inline constexpr std::int64_t kAny = -1;
inline constexpr std::size_t kMostHandles = 4;

struct Action {
  Duration compute{};  ///< Before it; scaled by what the process has seen.
  enum Kind : std::uint8_t { kCall, kWaitAll } kind = kCall;
  Call call;
};

struct Scenario {
  struct Process {
    Duration lookahead{};
    std::vector<Action> actions;
  };
  std::vector<Process> processes;
  std::vector<std::vector<std::uint32_t>> groups;  ///< Of barriers.
  Duration latency{};                              ///< Of a message.
  Duration per_byte{};
};

struct ScenarioOptions {
  int processes = 4;
  int length = 100;
  bool deadlocks = false;  ///< One message is received but never sent.
};

[[nodiscard]] Scenario random_scenario(std::uint64_t seed, const ScenarioOptions& options);

/// One line of what a process saw.
struct Entry {
  std::int64_t clock = 0;
  std::int64_t answer = 0;
  bool operator==(const Entry&) const = default;
};

/// Runs the actions of one process; the carrier makes the calls.
class Interpreter {
 public:
  explicit Interpreter(const Scenario::Process& process) : process_{process} {}

  struct Step {
    Duration compute{};
    bool is_end = false;
    Call call;
  };
  [[nodiscard]] Step next();
  Entry take(Time clock, std::int64_t answer);

 private:
  const Scenario::Process& process_;
  std::size_t at_ = 0;
  std::vector<std::int64_t> handles_;
  std::uint64_t seen_ = 1;
};

}  // namespace orrery::engine::testing
