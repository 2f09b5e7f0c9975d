// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The schedule that an MSCCL program becomes: a table with any number of lanes, written while the program runs on
/// paper.
#include "orrery/collectives/plan/msccl_wiring.hpp"
#include "orrery/collectives/schedule.hpp"

namespace orrery::collectives::plan {

class MscclSchedule final : public Schedule {
 public:
  MscclSchedule(Rank ranks, std::uint32_t chunk_count, const MscclWiring& wiring);

  /// A name for these chunks, to be used by the sender and by the receiver.
  [[nodiscard]] ChunkRange name(std::span<const std::uint32_t> chunks);
  void send(const MscclWiring::Block& from, Rank target, const ChunkRange& chunks);
  /// `what.peer` is a rank. Remembered by block and step for add_on_arrival().
  void receive(const MscclWiring::Block& by, std::uint32_t block, std::uint32_t step, Action what);
  /// Makes the receive of this block and step an addition; false if there is none.
  bool add_on_arrival(std::uint32_t block, std::uint32_t step);

  [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }
  [[nodiscard]] std::uint32_t chunk_count() const override { return chunk_count_; }
  [[nodiscard]] std::uint32_t lanes(Rank) const override { return lanes_of_rank_; }
  [[nodiscard]] std::vector<Rank> peers(Rank rank, std::uint32_t lane) const override {
    return at(rank, lane).peers;
  }
  [[nodiscard]] std::uint64_t length(Rank rank, std::uint32_t lane) const override {
    return at(rank, lane).actions.size();
  }
  [[nodiscard]] Action action(Rank rank, std::uint32_t lane, std::uint64_t index) const override {
    return at(rank, lane).actions[index];
  }
  [[nodiscard]] std::span<const std::uint32_t> chunk_list() const override { return list_; }

 private:
  struct Lane {
    std::vector<Rank> peers;
    std::vector<Action> actions;
  };
  /// Where the receive of each step of a block went.
  struct Receives {
    std::size_t lane = 0;
    std::vector<std::uint32_t> action;
  };
  [[nodiscard]] const Lane& at(Rank rank, std::uint32_t lane) const {
    return lanes_[std::size_t{rank} * lanes_of_rank_ + lane];
  }
  void append(Lane& lane, Rank peer, Action what);

  Rank ranks_;
  std::uint32_t chunk_count_;
  std::uint32_t lanes_of_rank_;
  std::vector<Lane> lanes_;
  std::vector<Receives> receives_;  // By block.
  std::vector<std::uint32_t> list_;
};

}  // namespace orrery::collectives::plan
