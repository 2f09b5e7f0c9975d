// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Small arithmetic shared by the plans: ranks on a circle, and the bytes of a rank's block.
#include <cstdint>

#include "orrery/collectives/algorithm.hpp"

namespace orrery::collectives::plan {

/// `value` modulo `count`, for values below 2 * count: a comparison instead of a division.
[[nodiscard]] constexpr Rank wrap(Rank value, Rank count) { return value >= count ? value - count : value; }
[[nodiscard]] constexpr Rank ahead(Rank rank, Rank distance, Rank count) {
  return wrap(rank + distance, count);
}
[[nodiscard]] constexpr Rank behind(Rank rank, Rank distance, Rank count) {
  return wrap(rank + count - distance, count);
}

/// All chunks of a layout.
[[nodiscard]] inline Bytes total_bytes(const Layout& layout) {
  return layout.bytes({0, layout.chunk_count(), false}, {});
}

/// Block `index` of `blocks` equally many chunks: a rank's contribution, or what is for it.
[[nodiscard]] inline Bytes block_bytes(const Layout& layout, std::uint32_t index, std::uint32_t blocks) {
  const std::uint32_t each = layout.chunk_count() / blocks;
  return layout.bytes({index * each, each, false}, {});
}

}  // namespace orrery::collectives::plan
