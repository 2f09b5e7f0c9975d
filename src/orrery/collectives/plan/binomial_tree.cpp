// SPDX-License-Identifier: Apache-2.0
// Binomial trees: log2(n) rounds, in each of which everyone who has the data passes it on. Two shapes, both on
// ranks counted from the root:
//   spreading   in round i rank v < 2^i sends to v + 2^i. For broadcast, and backwards for reduce.
//   contiguous  v's parent is v without its lowest bit, so the ranks below v are v, v+1, ...: gather and scatter,
//               where a message carries the blocks of a whole subtree.
// all_reduce and barrier are a reduce to rank 0 and a broadcast from it. Bytes on the wire: (n-1)S per direction;
// gather and scatter carry the block of v once per bit of v.
#include <algorithm>
#include <bit>

#include "orrery/collectives/plan/blocks.hpp"
#include "orrery/collectives/plan/tree_blocks.hpp"
#include "orrery/collectives/plan/tree_flow.hpp"

namespace orrery::collectives::plan {

namespace {

Rank tree_root(const PlanRequest& request) {
  const bool has_root =
      request.operation != Operation::kAllReduce && request.operation != Operation::kBarrier;
  return has_root ? request.root : 0;
}

Tree binomial(const PlanRequest& request) {
  const Rank ranks = request.ranks;
  const Rank root = tree_root(request);
  const bool is_contiguous = moves_blocks(request.operation);
  std::vector<Rank> parent(ranks);
  std::vector<Rank> order(ranks);
  parent[root] = root;
  order[0] = root;
  for (Rank v = 1; v < ranks; ++v) {
    const Rank above = is_contiguous ? v & (v - 1) : v - std::bit_floor(v);
    parent[ahead(v, root, ranks)] = ahead(above, root, ranks);
    order[v] = ahead(v, root, ranks);
  }
  // Largest subtree first: in the contiguous shape that is the farthest child.
  if (is_contiguous) std::ranges::reverse(order);
  return Tree{std::move(parent), order};
}

std::unique_ptr<Schedule> plan_binomial(const PlanRequest& request) {
  if (!moves_blocks(request.operation)) {
    return flow(request.operation, request.ranks, {binomial(request)}, request.pieces);
  }
  return move_blocks(request.operation, binomial(request));
}

Bytes binomial_bytes(const PlanRequest& request, const Layout& layout) {
  if (!moves_blocks(request.operation)) return flow_bytes(request.operation, request.ranks, layout);
  Bytes sum;
  for (Rank v = 1; v < request.ranks; ++v) {
    const Rank rank = ahead(v, request.root, request.ranks);
    sum += block_bytes(layout, rank, request.ranks) * std::popcount(v);
  }
  return sum;
}

}  // namespace

Algorithm binomial_tree() {
  return {
      .name = "binomial_tree",
      .help = "All who have the data pass it on; log2(n) rounds.",
      .operations = {Operation::kAllReduce, Operation::kBroadcast, Operation::kReduce, Operation::kGather,
                     Operation::kScatter, Operation::kBarrier},
      .refusal = {},
      .plan = plan_binomial,
      .wire_bytes = binomial_bytes,
  };
}

}  // namespace orrery::collectives::plan
