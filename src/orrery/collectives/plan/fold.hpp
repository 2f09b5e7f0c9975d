// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Any number of ranks for algorithms that need a power of two (Thakur, Rabenseifner and Gropp, 2005).
///
/// With p the largest power of two in n and e = n-p, each even rank below 2e is folded into the rank after it:
/// it hands its data over first and gets the result last. The p ranks left have cube numbers 0..p-1.
#include <bit>

#include "orrery/collectives/schedule.hpp"

namespace orrery::collectives::plan {

class Fold {
 public:
  explicit Fold(Rank ranks) : cube_{std::bit_floor(ranks)}, folded_{2 * (ranks - cube_)} {}

  [[nodiscard]] Rank cube_size() const { return cube_; }
  /// log2 of the size: the number of exchange steps.
  [[nodiscard]] std::uint32_t steps() const { return static_cast<std::uint32_t>(std::countr_zero(cube_)); }
  [[nodiscard]] Rank extra() const { return folded_ / 2; }
  [[nodiscard]] bool is_folded(Rank rank) const { return rank < folded_ && rank % 2 == 0; }
  [[nodiscard]] bool has_folded(Rank rank) const { return rank < folded_ && rank % 2 == 1; }
  /// The other half of a folded pair.
  [[nodiscard]] static Rank partner(Rank rank) { return rank ^ 1; }
  /// Only for ranks that are not folded.
  [[nodiscard]] Rank cube_number(Rank rank) const { return rank < folded_ ? rank / 2 : rank - extra(); }
  [[nodiscard]] Rank rank_of(Rank number) const {
    return number < extra() ? 2 * number + 1 : number + extra();
  }

 private:
  Rank cube_;
  Rank folded_;  // Ranks below this are in folded pairs.
};

}  // namespace orrery::collectives::plan
