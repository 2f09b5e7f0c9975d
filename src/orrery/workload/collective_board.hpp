// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Collectives of a workload. The n-th call of a group on each member is the same collective; calls are checked
/// against each other; a member's part begins when it calls.
///
/// Folding: a collective that all members call at one instant, where nothing else can matter, goes as the first one
/// with the same plan went. Then its times are taken from there and nothing is simulated again. Nothing else can
/// matter when a rank has one communication stream and
///   - messages depend on their stream only: the group's connections are its own; or
///   - messages depend on what is under way, all ranks are in the group, and all of them end at the same time:
///     every stream is held by this collective from its begin to its end.
/// Where threads must be woken, every moment is another one.
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <tuple>
#include <vector>

#include "orrery/collectives/select/planner.hpp"
#include "orrery/workload/collective_instance.hpp"

namespace orrery::workload {

/// Sums over the collectives of one kind: operation, group, size and the way it was run.
struct CollectiveTotal {
  std::string operation;
  std::string group;  ///< "" is everybody.
  std::string algorithm;
  std::string name;  ///< Of the first node.
  std::uint32_t ranks = 0;
  Bytes size;  ///< The whole buffer as nccl-tests counts it.
  std::uint64_t calls = 0;
  std::uint64_t folded = 0;  ///< Of them, those taken from an earlier one.
  Duration time{};           ///< From the last member's call to the last member's end, summed.
  Duration longest{};        ///< Of one of them.
  Duration waiting{};        ///< From the first member's call to the last one's, summed.
  Bytes wire_bytes;
  std::uint64_t messages = 0;
};

class CollectiveBoard final : public Pinned, engine::Settler, engine::Handler, InstanceOwner {
 public:
  struct Setup {
    engine::Engine& engine;
    network::NetworkModel& network;
    topology::Router& router;
    const topology::Cluster& cluster;
    CommunicationListener& listener;
    collectives::Wakefulness& wakefulness;
    std::vector<ProcessGroup>& groups;
    std::string algorithm;
    std::string fallback;
    std::string catalog;
    std::map<collectives::Operation, std::string> algorithm_of{};
    Rank ranks = 0;
    std::uint32_t streams = 1;  ///< Communication streams of a rank; 0 = no limit.
    bool folds = true;
  };
  explicit CollectiveBoard(Setup setup);
  ~CollectiveBoard() override;

  /// `what` is a collective of `rank` and may go away afterwards. SimulationError when it does not agree with what the
  /// other members called.
  void post(Rank rank, Slot slot, const Communication& what);

  struct Waiting {
    std::uint64_t number = 0;     ///< Of the collective among its group's, from 1.
    std::vector<Rank> missing{};  ///< Who has not called; empty = bytes are under way.
  };
  /// Of a call that is not through.
  [[nodiscard]] Waiting waiting(Rank rank, Slot slot, std::uint32_t group) const;

  /// By operation, group, size and algorithm.
  [[nodiscard]] std::vector<CollectiveTotal> totals() const;
  /// Adds what folded collectives would have put on the links.
  void add_folded_traffic(std::vector<network::LinkCounters>& counters) const;

 private:
  struct GroupState {
    std::vector<std::uint64_t> next{};              // Of each member: the number of its next collective.
    std::map<std::uint64_t, std::uint32_t> open{};  // By number: called by some, not ended by all.
  };
  using TotalKey = std::tuple<std::string, std::string, std::int64_t, std::string>;

  void settle() override;
  void on_event(std::uint64_t payload) override;
  void on_member_done(CollectiveInstance& instance, Rank member) override;
  void attend(CollectiveInstance& instance);
  void start(CollectiveInstance& instance);
  /// Looks for an earlier one to go by; true when there is.
  bool fold(CollectiveInstance& instance, const std::shared_ptr<const collectives::Plan>& plan);
  [[nodiscard]] bool may_fold(const CollectiveInstance& instance) const;
  void keep_memo(CollectiveInstance& instance);
  void announce(CollectiveInstance& instance);
  void account(const CollectiveInstance& instance);
  void retire();
  [[nodiscard]] CollectiveInstance& open_instance(std::uint32_t group, std::uint64_t number);

  Setup setup_;
  collectives::Planner planner_;
  engine::OriginId origin_;
  network::Dependence dependence_;
  std::vector<GroupState> states_;
  std::vector<std::unique_ptr<CollectiveInstance>> instances_;
  std::vector<std::uint32_t> free_places_;
  std::vector<std::uint32_t> touched_;  // Places of instances that were called in this instant.
  std::deque<std::uint32_t> over_;      // Every member has ended; switches may still be busy.
  std::map<const collectives::Plan*, std::shared_ptr<CollectiveMemo>> memos_;
  std::vector<std::shared_ptr<CollectiveMemo>> used_memos_;
  std::map<TotalKey, CollectiveTotal> totals_;
};

}  // namespace orrery::workload
