// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/select/gloo.hpp"

#include <algorithm>

namespace orrery::collectives {
namespace {

/// The ring's segments: at most 1 MiB each and at least two per rank, so that a rank reduces one while the next
/// is on its way; two are sent ahead.
GlooPlan segmented_ring(Rank ranks, Bytes size) {
  constexpr std::int64_t kLargestSegment = 1 << 20;
  const std::int64_t segments = div_ceil(size.count(), kLargestSegment);
  const std::int64_t pieces = std::clamp<std::int64_t>(div_ceil(segments, ranks), 2, 1 << 16);
  return {.operation = Operation::kAllReduce,
          .algorithm = "ring",
          .pieces = static_cast<std::uint32_t>(pieces),
          .window = 2};
}

}  // namespace

GlooPlan gloo_plan(Operation operation, Rank ranks, Bytes size, bool is_uneven) {
  const auto plan = [&](const char* algorithm, std::uint32_t pieces = 1, std::uint32_t window = 0) {
    return GlooPlan{.operation = operation, .algorithm = algorithm, .pieces = pieces, .window = window};
  };
  switch (operation) {
    case Operation::kAllReduce:
      return segmented_ring(ranks, size);
    case Operation::kReduceScatter:
      return segmented_ring(ranks, size);  // Each rank keeps its part of an all_reduce.
    case Operation::kReduce: {
      GlooPlan ring = segmented_ring(ranks, size);
      ring.operation = operation;
      return ring;
    }
    case Operation::kAllGather:
      return is_uneven ? plan("ring") : plan("ring", 2, 2);
    case Operation::kAllToAll:
      return plan("direct");
    case Operation::kBroadcast:
      return plan("binomial_tree");
    case Operation::kGather:
    case Operation::kScatter:
      return plan("flat");
    case Operation::kBarrier:
      return plan("bruck");
    case Operation::kSendReceive:
      return plan("point_to_point");
  }
  return {};
}

}  // namespace orrery::collectives
