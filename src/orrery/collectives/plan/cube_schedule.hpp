// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Exchanges along the edges of a hypercube, with the ranks beyond a power of two folded in.
///
/// A stage goes over the log2(p) dimensions of the cube; in each step a rank sends to the neighbour there and
/// receives from it. With d the distance to the neighbour, v the own cube number and "v's d-group" the d numbers
/// that agree with v in all bits from d upwards:
///   kWhole   the whole buffer is swapped (d = 1, 2, ...): all-reduce, barrier
///   kHalve   the blocks of the neighbour's d-group go, those of the own are added to (d = p/2, ..., 1)
///   kDouble  the blocks of the own d-group go, those of the neighbour's come (d = 1, ..., p/2)
#include "orrery/collectives/plan/fold.hpp"

namespace orrery::collectives::plan {

class CubeSchedule final : public Schedule {
 public:
  enum class Stage : std::uint8_t { kWhole, kHalve, kDouble };
  struct Spec {
    Rank ranks = 0;  ///< At least two.
    std::vector<Stage> stages;
    bool adds = true;  ///< False for a barrier: nothing is computed.
  };
  explicit CubeSchedule(Spec spec);

  [[nodiscard]] std::uint32_t ranks() const override { return ranks_; }
  [[nodiscard]] std::uint32_t chunk_count() const override { return chunks_; }
  [[nodiscard]] std::uint32_t lanes(Rank) const override { return 1; }
  [[nodiscard]] std::vector<Rank> peers(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] std::uint64_t length(Rank rank, std::uint32_t lane) const override;
  [[nodiscard]] Action action(Rank rank, std::uint32_t lane, std::uint64_t index) const override;

 private:
  Rank ranks_;
  Fold fold_;
  std::vector<Stage> stages_;
  ActionKind add_;
  std::uint32_t chunks_;
};

}  // namespace orrery::collectives::plan
