// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery trace check` as a call: everything that would keep a trace from running to its end.
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/workload/op.hpp"

namespace orrery::app {

enum class ProblemKind : std::uint8_t {
  kUnreadable,         ///< A file, or the rest of it.
  kBadNode,            ///< An attribute is missing or makes no sense.
  kDuplicateId,        ///< Within a rank.
  kMissingDependency,  ///< On an id that the rank has not.
  kNoSuchRank,         ///< A peer or root beyond the ranks of the trace.
  kNoSuchGroup,        ///< Nobody says who is in it.
  kNotInGroup,         ///< A rank takes part in a group that does not list it.
  kCycle,              ///< Nodes that wait for each other.
  kMissingPeer,        ///< A send without a receive, or the other way round.
  kSizeMismatch,       ///< A send and its receive, or the parts of one collective.
  kSequenceMismatch,   ///< Ranks that disagree on the collectives of a group.
};
/// "missing_peer", ...
[[nodiscard]] std::string_view to_text(ProblemKind kind);
/// Whether the trace is malformed, rather than a program that gets stuck.
[[nodiscard]] bool is_input_problem(ProblemKind kind);

struct NodePlace {
  workload::Rank rank = 0;
  std::uint64_t id = 0;
  std::string name{};
};

struct TraceProblem {
  ProblemKind kind = ProblemKind::kUnreadable;
  std::string message;
  std::vector<NodePlace>
      nodes{};  ///< Who is involved; of a cycle, each waits for the next and the last for the first.
};

/// The first problems in the order they were found; the rest is counted.
class TraceProblems {
 public:
  static constexpr std::size_t kListed = 200;
  void add(TraceProblem problem);
  [[nodiscard]] const std::vector<TraceProblem>& listed() const& { return listed_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  /// 0 without problems, 2 when the trace is malformed, 3 when it would get stuck.
  [[nodiscard]] int exit_code() const;

 private:
  std::vector<TraceProblem> listed_;
  std::uint64_t count_ = 0;
  bool has_input_problem_ = false;
};

struct TraceCheck {
  std::string name;
  workload::Rank ranks = 0;
  std::uint64_t nodes = 0;
  std::uint64_t messages = 0;     ///< Sends and receives that were paired.
  std::uint64_t collectives = 0;  ///< That all their ranks agree on.
  bool is_single = false;         ///< One file: nothing is known of other ranks.
  TraceProblems problems{};
};

/// `comm_groups` may be "". InputError only when no trace is found.
[[nodiscard]] TraceCheck trace_check(const std::string& path, const std::string& comm_groups = {});
[[nodiscard]] std::string to_json(const TraceCheck& check);

}  // namespace orrery::app
