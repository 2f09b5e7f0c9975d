// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/select/gloo.hpp"

#include <algorithm>

namespace orrery::collectives {
namespace {

/// The ring's segments: at most 1 MiB each and at least two per rank, so that a rank reduces one while the next
/// is on its way; two are sent ahead.
GlooPlan segmented_ring(Rank ranks, Bytes size) {
  constexpr std::int64_t kLargestSegment = 1 << 20;
  const std::int64_t rank_bytes = div_ceil(size.count(), std::max<std::int64_t>(ranks, 1));
  const std::int64_t pieces = std::clamp<std::int64_t>(div_ceil(rank_bytes, kLargestSegment), 2, 1 << 20);
  return {.algorithm = "ring", .pieces = static_cast<std::uint32_t>(pieces), .window = 2};
}

}  // namespace

GlooPlan gloo_plan(Operation operation, Rank ranks, Bytes size) {
  switch (operation) {
    case Operation::kAllReduce: return segmented_ring(ranks, size);
    case Operation::kReduce: return segmented_ring(ranks, size);
    case Operation::kReduceScatter: return {.algorithm = "ring"};
    case Operation::kAllGather: return {.algorithm = "ring"};
    case Operation::kAllToAll: return {.algorithm = "direct"};
    case Operation::kBroadcast: return {.algorithm = "binomial_tree"};
    case Operation::kGather:
    case Operation::kScatter: return {.algorithm = "flat"};
    case Operation::kBarrier: return {.algorithm = "bruck"};
    case Operation::kSendReceive: return {.algorithm = "point_to_point"};
  }
  return {};
}

}  // namespace orrery::collectives
