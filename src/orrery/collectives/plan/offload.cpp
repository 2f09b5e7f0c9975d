// SPDX-License-Identifier: Apache-2.0
// Collectives computed by the switches (SHARP, Graham et al., 2016; NVLink SHARP): data goes up a tree of switches
// that add it, and comes down by multicast. A rank sends and receives the buffer once, whatever n is; a ring makes
// it pass twice. Bytes on the wire, with E edges in the tree: all_reduce 2ES, the others ES; barrier 2E tokens.
// broadcast and reduce use the tree as seen from their root. Real NVLS also moves a rank's own block through the
// switch in reduce_scatter and all_gather; here it stays where it is, which is S/n per rank less.
#include <fmt/format.h>

#include "orrery/collectives/plan/blocks.hpp"
#include "orrery/collectives/plan/tree_exchange.hpp"
#include "orrery/collectives/plan/tree_flow.hpp"

namespace orrery::collectives::plan {

namespace {

std::string refuse_offload(const PlanRequest& request) {
  const std::vector<Rank>& parent = request.tree.parent;
  if (parent.empty()) return "needs a tree of switches that compute";
  if (parent.size() < request.ranks) {
    return fmt::format("the tree has {} participants for {} ranks", parent.size(), request.ranks);
  }
  if (std::string defect = tree_defect(parent); !defect.empty()) return defect;
  std::vector<std::uint32_t> degree(parent.size(), 0);
  for (Rank who = 0; who < parent.size(); ++who) {
    if (parent[who] == who) continue;
    ++degree[who];
    ++degree[parent[who]];
  }
  for (Rank who = request.ranks; who < parent.size(); ++who) {
    if (degree[who] < 2) return fmt::format("switch {} of the tree joins nothing", who);
  }
  return "";
}

std::unique_ptr<Schedule> plan_offload(const PlanRequest& request) {
  using Purpose = TreeExchange::Purpose;
  const Operation operation = request.operation;
  if (operation == Operation::kAllGather || operation == Operation::kReduceScatter) {
    const bool is_gather = operation == Operation::kAllGather;
    return std::make_unique<TreeExchange>(Tree{request.tree.parent}, request.ranks, request.pieces,
                                          is_gather ? Purpose::kAllGather : Purpose::kReduceScatter);
  }
  const bool has_root = operation == Operation::kBroadcast || operation == Operation::kReduce;
  Tree tree{has_root ? rerooted(request.tree.parent, request.root) : request.tree.parent};
  return flow(operation, request.ranks, {std::move(tree)}, request.pieces);
}

}  // namespace

Algorithm offload() {
  return {
      .name = "offload",
      .help = "Switches add on the way up a tree and multicast on the way down.",
      .operations = {Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter,
                     Operation::kBroadcast, Operation::kReduce, Operation::kBarrier},
      .refusal = refuse_offload,
      .plan = plan_offload,
      .wire_bytes =
          [](const PlanRequest& request, const Layout& layout) {
            return flow_bytes(request.operation, static_cast<Rank>(request.tree.parent.size()), layout);
          },
  };
}

}  // namespace orrery::collectives::plan
