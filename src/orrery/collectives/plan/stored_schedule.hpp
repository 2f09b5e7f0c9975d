// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A schedule kept as a table, for plans whose actions have no short formula. Built action by action, then used
/// as any other. Regular schedules must not be stored: a ring of 4,096 ranks has 33 million messages.
#include "orrery/collectives/schedule.hpp"

namespace orrery::collectives::plan {

class StoredSchedule final : public Schedule {
 public:
  /// One lane per participant.
  StoredSchedule(Rank ranks, std::uint32_t chunk_count)
      : ranks_{ranks}, chunk_count_{chunk_count}, lanes_(ranks) {}

  /// A name for these chunks, to be used by the sender and by the receiver. Only ids that do not follow each
  /// other take room in the chunk list.
  [[nodiscard]] ChunkRange name(std::span<const std::uint32_t> chunks);
  /// Appends to the lane of `rank`.
  void send(Rank rank, Rank target, const ChunkRange& chunks) {
    append(rank, ActionKind::kSend, target, chunks);
  }
  void receive(Rank rank, Rank source, const ChunkRange& chunks, ActionKind kind = ActionKind::kReceive) {
    append(rank, kind, source, chunks);
  }

  [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }
  [[nodiscard]] std::uint32_t chunk_count() const override { return chunk_count_; }
  [[nodiscard]] std::uint32_t lanes(Rank) const override { return 1; }
  [[nodiscard]] std::vector<Rank> peers(Rank rank, std::uint32_t) const override {
    return lanes_[rank].peers;
  }
  [[nodiscard]] std::uint64_t length(Rank rank, std::uint32_t) const override {
    return lanes_[rank].actions.size();
  }
  [[nodiscard]] Action action(Rank rank, std::uint32_t, std::uint64_t index) const override {
    return lanes_[rank].actions[index];
  }
  [[nodiscard]] std::span<const std::uint32_t> chunk_list() const override { return list_; }

 private:
  struct Lane {
    std::vector<Rank> peers;
    std::vector<Action> actions;
  };
  void append(Rank rank, ActionKind kind, Rank peer, const ChunkRange& chunks);

  Rank ranks_;
  std::uint32_t chunk_count_;
  std::vector<Lane> lanes_;
  std::vector<std::uint32_t> list_;
};

}  // namespace orrery::collectives::plan
