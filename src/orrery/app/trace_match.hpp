// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Whether the ranks of a trace agree: sends meet receives, and everyone in a group does the same collectives.
#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "orrery/app/trace_check.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::app {

class TraceMatch {
 public:
  TraceMatch(workload::Rank ranks, const workload::Groups& groups, TraceProblems& problems)
      : ranks_{ranks}, groups_{groups}, problems_{problems} {}
  /// The communication of `rank` in its order. Each rank once.
  void add(workload::Rank rank, const std::vector<workload::Op>& ops);
  /// After the last rank: what is left over.
  void finish();
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  [[nodiscard]] std::uint64_t collectives() const;

 private:
  struct End {  // Of a message.
    std::uint64_t id = 0;
    std::string name;
    Bytes size;
  };
  struct Channel {  // Ends that have not met; one of the two is empty.
    std::deque<End> sends;
    std::deque<End> receives;
  };
  struct Step {  // A collective of a group.
    std::uint64_t id = 0;
    std::string name;
    collectives::Operation operation{};
    bool is_block = false;
    Bytes size;
    bool is_uneven = false;
    workload::Rank root = 0;
  };
  struct Sequence {
    workload::Rank first = 0;  // Whose steps these are.
    std::vector<Step> steps;
    std::map<workload::Rank, std::size_t> done;  // How many each rank has.
    bool is_broken = false;
  };

  void add_message(workload::Rank rank, const workload::Op& op);
  void add_step(workload::Rank rank, const workload::Op& op);
  void compare(workload::Rank rank, const std::string& group, Sequence& sequence, const Step& step);
  [[nodiscard]] bool has_group(workload::Rank rank, const workload::Op& op);
  void check_root(workload::Rank rank, const workload::Op& op);
  void finish_messages();
  void finish_groups();
  void report_short(const std::string& group, Sequence& sequence, workload::Rank rank, std::size_t done);

  workload::Rank ranks_;
  const workload::Groups& groups_;
  TraceProblems& problems_;
  std::map<std::tuple<workload::Rank, workload::Rank, std::int64_t>, Channel>
      channels_;  // Source, target, tag.
  std::map<std::string, Sequence> sequences_;
  std::uint64_t messages_ = 0;
};

}  // namespace orrery::app
