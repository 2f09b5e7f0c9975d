// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Which bytes of an operation's results this member gave itself: they do not depend on anybody else.
#include <cstdint>
#include <limits>
#include <numeric>
#include <vector>

#include "orrery_rank.h"

namespace orrery::live::shim {

/// Bytes [begin, end) of the outputs, one tensor after the other.
struct OwnBytes {
  std::int64_t begin = 0;
  std::int64_t end = 0;
};

/// `sizes` as in orrery_op. Where outputs do not lie in the order of members, nothing counts as its own.
inline OwnBytes own_bytes(orrery_kind kind, int rank, int members, std::int64_t root,
                          const std::vector<std::int64_t>& sizes, std::int64_t output_bytes) {
  constexpr OwnBytes kAll{0, std::numeric_limits<std::int64_t>::max()};
  const auto part = [&](std::ptrdiff_t first) -> OwnBytes {
    const auto from = sizes.begin() + first;
    if (std::accumulate(from, from + members, std::int64_t{0}) != output_bytes) return {};
    const std::int64_t begin = std::accumulate(from, from + rank, std::int64_t{0});
    return {begin, begin + from[rank]};
  };
  switch (kind) {
    case ORRERY_ALL_GATHER:
      return part(0);
    case ORRERY_ALL_TO_ALL:
      return part(members);
    case ORRERY_GATHER:
      return rank == root ? part(1) : kAll;
    case ORRERY_BROADCAST:
    case ORRERY_SCATTER:
      return rank == root ? kAll : OwnBytes{};
    case ORRERY_REDUCE:
      return rank == root ? OwnBytes{} : kAll;
    default:
      return {};
  }
}

}  // namespace orrery::live::shim
