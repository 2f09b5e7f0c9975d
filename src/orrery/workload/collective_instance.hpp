// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One collective that at least one member has called.
#include <cstdint>
#include <memory>
#include <vector>

#include "orrery/workload/collective_memo.hpp"
#include "orrery/workload/communication.hpp"

namespace orrery::workload {

class CollectiveInstance;

/// Told when a member's part is done.
class InstanceOwner {
 public:
  virtual void on_member_done(CollectiveInstance& instance, Rank member) = 0;

 protected:
  ~InstanceOwner() = default;
};

/// The whole buffer of a member's call, as costs go by it.
[[nodiscard]] Bytes buffer_of(const Communication& what, std::size_t members);

class CollectiveInstance final : public Pinned, collectives::CollectiveRun::Listener {
 public:
  CollectiveInstance(InstanceOwner& owner, ProcessGroup& group, std::uint64_t number);

  /// A member calls, and has to be woken. SimulationError when that does not fit what others called.
  void call(Rank member, Slot slot, const Communication& what, Time now);
  /// The member that called last needs so long to wake.
  void wakes(Duration wake) { fresh_.back().wake = wake; }
  /// Everyone who matters for what is run has called: all of them for an uneven all_to_all, else anyone.
  [[nodiscard]] bool can_start() const;
  [[nodiscard]] collectives::CollectiveRequest request() const;
  /// `setup` without what the plan says.
  void start(std::shared_ptr<const collectives::Plan> plan, collectives::CollectiveRun::Setup setup);
  /// Members that called since the last time begin their part; false before start().
  bool let_in();
  /// The member's part is done without a run.
  void end(Rank member) { on_rank_done(member); }

  [[nodiscard]] ProcessGroup& group() const { return group_; }
  [[nodiscard]] std::uint64_t number() const { return number_; }
  [[nodiscard]] const Communication& first() const { return first_; }
  [[nodiscard]] Slot slot(Rank member) const { return slots_[member]; }
  [[nodiscard]] bool has_called(Rank member) const { return slots_[member] != kNoSlot; }
  [[nodiscard]] bool has_ended(Rank member) const { return has_ended_[member]; }
  [[nodiscard]] bool is_complete() const { return called_ == group_.size(); }
  [[nodiscard]] bool is_over() const { return ended_ == group_.size(); }
  /// All members called at one instant.
  [[nodiscard]] bool is_even() const { return is_complete() && first_call_ == last_call_; }
  /// Nothing of it is under way any more, switches included.
  [[nodiscard]] bool is_idle() const;
  [[nodiscard]] Time first_call() const { return first_call_; }
  [[nodiscard]] Time last_call() const { return last_call_; }
  [[nodiscard]] const std::shared_ptr<const collectives::Plan>& plan() const { return plan_; }
  [[nodiscard]] const collectives::CollectiveRun* run() const { return run_.get(); }

  std::uint32_t place = 0;                      ///< Of its owner's list.
  std::uint32_t group_index = 0;                ///< Likewise.
  std::shared_ptr<CollectiveMemo> memo{};       ///< It goes by this one, or records it.
  std::unique_ptr<CountingNetwork> counting{};  ///< While it records.
  bool is_folded = false;
  bool is_announced = false;  ///< The members were told that everyone is there.

 private:
  void on_rank_done(Rank member) override;
  void check_sizes(Rank member, const Communication& what) const;
  void check_agreement(Rank member, const Communication& what) const;

  InstanceOwner& owner_;
  ProcessGroup& group_;
  std::uint64_t number_;
  Communication first_;
  Rank first_member_ = 0;
  std::vector<Slot> slots_;
  std::vector<bool> has_ended_;
  struct Entry {
    Rank member;
    Duration wake;  // What waking it costs.
    Time called;
  };
  std::vector<Entry> fresh_;              // Called and not let in yet.
  std::vector<std::vector<Bytes>> rows_;  // Of an uneven all_to_all: what each member sends to each.
  Rank called_ = 0;
  Rank ended_ = 0;
  Time first_call_{};
  Time last_call_{};
  std::shared_ptr<const collectives::Plan> plan_;
  std::unique_ptr<collectives::CollectiveRun> run_;
};

}  // namespace orrery::workload
