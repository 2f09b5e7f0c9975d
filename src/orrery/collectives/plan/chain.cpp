// SPDX-License-Identifier: Apache-2.0
// A chain from the root along the ring of ranks; reduce runs it backwards. With k pieces the last rank is done
// after n-2+k piece times, so with many pieces the time nears that of one transfer, whatever n is. This is what
// NCCL runs as "ring" for broadcast and reduce. Bytes on the wire: (n-1)S.
#include "orrery/collectives/plan/blocks.hpp"
#include "orrery/collectives/plan/tree_flow.hpp"

namespace orrery::collectives::plan {

namespace {

std::unique_ptr<Schedule> plan_chain(const PlanRequest& request) {
  std::vector<Rank> parent(request.ranks);
  for (Rank rank = 0; rank < request.ranks; ++rank) parent[rank] = behind(rank, 1, request.ranks);
  parent[request.root] = request.root;
  return flow(request.operation, request.ranks, {Tree{parent}}, request.pieces);
}

}  // namespace

Algorithm chain() {
  return {
      .name = "chain",
      .help = "Pieces pass from rank to rank, pipelined; for large broadcasts and reduces.",
      .operations = {Operation::kBroadcast, Operation::kReduce},
      .refusal = {},
      .plan = plan_chain,
      .wire_bytes = [](const PlanRequest& request,
                       const Layout& layout) { return flow_bytes(request.operation, request.ranks, layout); },
  };
}

}  // namespace orrery::collectives::plan
