// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Collectives of the program: members' calls are matched by group and number, checked against each other, and run
/// over the network from when each member arrives.
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "orrery/collectives/run/wakefulness.hpp"
#include "orrery/collectives/select/planner.hpp"
#include "orrery/live/arena.hpp"
#include "orrery/live/ending.hpp"
#include "orrery/live/group.hpp"

namespace orrery::live {

/// What a collective of the program is in the simulation.
[[nodiscard]] collectives::Operation operation_of(const orrery_op& op);

/// The whole buffer of a member's collective, as costs go by it.
[[nodiscard]] Bytes buffer_of(const orrery_op& op, std::uint32_t members);

class Collectives : Pinned {
 public:
  struct Setup {
    engine::Engine& engine;
    network::NetworkModel& network;
    topology::Router& router;
    const topology::Cluster& cluster;
    Arena& arena;
    ArenaHeap& heap;
    EndListener& listener;
    collectives::Wakefulness& wakefulness;
    std::string algorithm;  ///< "gloo", "nccl", or an algorithm's name, used where it can.
    std::string fallback;   ///< "gloo" or "nccl": for what `algorithm` cannot do.
    std::string catalog;
  };
  explicit Collectives(Setup setup);
  ~Collectives();

  /// A member calls now. SimulationError when it does not agree with the others.
  void arrive(Group& group, std::uint32_t rank, orrery_op& op);
  /// Ends the rank's part in it with `reason`; the others go on waiting.
  void fail(Group& group, std::uint32_t rank, orrery_op& op, const std::string& reason);
  /// The rank is gone: it sends nothing any more.
  void withdraw(std::uint32_t rank);
  /// Global ranks that have not called the collective of `op` yet.
  [[nodiscard]] std::vector<std::uint32_t> missing(const Group& group, const orrery_op& op) const;
  /// Bytes handed to the network so far.
  [[nodiscard]] std::int64_t wire_bytes() const;

 private:
  class Instance;
  using Key = std::pair<const Group*, std::uint64_t>;

  std::shared_ptr<const collectives::Plan> plan(Group& group, const collectives::CollectiveRequest& request);
  void ended(Instance& instance, std::uint32_t member);
  void retire();

  Setup setup_;
  collectives::Planner planner_;
  engine::OriginId origin_;
  std::map<Key, std::unique_ptr<Instance>> open_;
  std::deque<std::unique_ptr<Instance>> over_;  // Every member has ended; switches may still be busy.
  std::int64_t wire_bytes_ = 0;                 // Of runs that are gone.
};

}  // namespace orrery::live
