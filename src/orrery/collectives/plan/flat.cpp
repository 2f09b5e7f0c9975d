// SPDX-License-Identifier: Apache-2.0
// The root talks to everyone itself, in ascending order of rank: two hops at most, but the root's link carries all.
// Bytes on the wire: broadcast, reduce (n-1)S; gather, scatter S less the root's block; barrier 2(n-1) tokens.
#include "orrery/collectives/plan/blocks.hpp"
#include "orrery/collectives/plan/tree_blocks.hpp"
#include "orrery/collectives/plan/tree_flow.hpp"

namespace orrery::collectives::plan {

namespace {

std::unique_ptr<Schedule> plan_flat(const PlanRequest& request) {
  Tree star{std::vector<Rank>(request.ranks, request.root)};
  if (!moves_blocks(request.operation)) {
    return flow(request.operation, request.ranks, {std::move(star)}, request.pieces);
  }
  return move_blocks(request.operation, std::move(star));
}

Bytes flat_bytes(const PlanRequest& request, const Layout& layout) {
  if (!moves_blocks(request.operation)) return flow_bytes(request.operation, request.ranks, layout);
  return total_bytes(layout) - block_bytes(layout, request.root, request.ranks);
}

}  // namespace

Algorithm flat() {
  return {
      .name = "flat",
      .help = "The root talks to every other rank itself.",
      .operations = {Operation::kBroadcast, Operation::kReduce, Operation::kGather, Operation::kScatter,
                     Operation::kBarrier},
      .refusal = {},
      .plan = plan_flat,
      .wire_bytes = flat_bytes,
  };
}

}  // namespace orrery::collectives::plan
