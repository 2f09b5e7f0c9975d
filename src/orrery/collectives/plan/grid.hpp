// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Ranks as points of a grid: rank = c0 + c1*d0 + c2*d0*d1 + ..., the first dim being the fastest (say, the GPUs of a
/// node), the last the slowest.
#include <vector>

#include "orrery/base/check.hpp"
#include "orrery/collectives/schedule.hpp"

namespace orrery::collectives::plan {

class Grid {
 public:
  /// Dims of size one are left out.
  explicit Grid(const std::vector<std::uint32_t>& dims) {
    for (const std::uint32_t size : dims) {
      if (size == 1) continue;
      sizes_.push_back(size);
      strides_.push_back(ranks_);
      ranks_ *= size;
    }
    ORRERY_CHECK(ranks_ > 0, "a dim of size zero");
  }

  [[nodiscard]] Rank ranks() const { return ranks_; }
  [[nodiscard]] std::size_t dims() const { return sizes_.size(); }
  [[nodiscard]] std::uint32_t size(std::size_t dim) const { return sizes_[dim]; }
  [[nodiscard]] std::uint32_t coordinate(Rank rank, std::size_t dim) const {
    return rank / strides_[dim] % sizes_[dim];
  }
  /// `rank` with another coordinate in `dim`.
  [[nodiscard]] Rank moved(Rank rank, std::size_t dim, std::uint32_t coordinate_there) const {
    return rank - coordinate(rank, dim) * strides_[dim] + coordinate_there * strides_[dim];
  }
  /// Ranks that differ only in dims below `dim` have ids that differ by less than this.
  [[nodiscard]] std::uint32_t stride(std::size_t dim) const { return strides_[dim]; }

 private:
  Rank ranks_ = 1;
  std::vector<std::uint32_t> sizes_;
  std::vector<std::uint32_t> strides_;
};

}  // namespace orrery::collectives::plan
