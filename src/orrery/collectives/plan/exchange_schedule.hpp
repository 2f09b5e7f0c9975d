// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Everyone talks to everyone, in n-1 rounds in which each rank sends to one other and receives from one other.
///
/// In round s rank r sends to r+s and receives from r-s (modulo n); with `swaps` and a power of two it exchanges
/// with r^s instead, so that the rounds are pairs. Either all sends of a phase come first (everything is under
/// way at once) or each round is awaited before the next. A phase is one pass over the rounds:
///   kDistribute  block j goes from every rank to rank j, where it is added: reduce-scatter
///   kCollect     the own block goes to everyone: all-gather
///   kPersonal    chunk (r, j) goes from r to j: all-to-all
///   kEverything  the whole buffer goes to everyone, where it is added: the one-shot all-reduce
#include "orrery/collectives/schedule.hpp"

namespace orrery::collectives::plan {

class ExchangeSchedule final : public Schedule {
 public:
  enum class Phase : std::uint8_t { kDistribute, kCollect, kPersonal, kEverything };
  struct Spec {
    Rank ranks = 0;  ///< At least two.
    std::vector<Phase> phases{};
    bool at_once = false;
    bool swaps = false;
  };
  explicit ExchangeSchedule(Spec spec);

  [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }
  [[nodiscard]] std::uint32_t chunk_count() const override;
  [[nodiscard]] std::uint32_t lanes(Rank) const override { return 1; }
  [[nodiscard]] std::vector<Rank> peers(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] std::uint64_t length(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] Action action(Rank rank, std::uint32_t lane, std::uint64_t index) const override;

 private:
  [[nodiscard]] std::uint32_t chunk(Phase phase, Rank source, Rank target) const;

  Rank ranks_;
  std::vector<Phase> phases_;
  bool at_once_;
  bool swaps_;
};

}  // namespace orrery::collectives::plan
