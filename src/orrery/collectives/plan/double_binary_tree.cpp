// SPDX-License-Identifier: Apache-2.0
// Double binary trees (Sanders, Speck and Träff, 2009; NCCL's "tree"): two binary trees in which, but for the root,
// whoever is inside one is a leaf of the other, each carrying half of the buffer in pieces. Near the bandwidth of a
// ring at the latency of a tree. all_reduce is rooted at rank 0. Bytes on the wire: (n-1)S per direction.
//
// With ranks counted from the root, the first tree hangs 1..n-1 below 0 in in-order numbering: leaves are odd, a node
// with lowest bit b has children at distance b/2. The second is the first with 1..n-1 relabelled so that odd and even
// change places: mirrored if n-1 is even, else shifted by one around the circle (then one rank is inside both).
#include <bit>

#include "orrery/collectives/plan/blocks.hpp"
#include "orrery/collectives/plan/tree_flow.hpp"

namespace orrery::collectives::plan {

namespace {

Rank in_order_parent(Rank node, Rank count) {
  const Rank bit = node & (~node + 1);
  const Rank above = (node ^ bit) | (bit << 1);
  // On the right edge the parent would lie beyond the last node; then it is the ancestor to the left.
  return above < count ? above : node ^ bit;
}

/// The label in the second tree of node 1..last.
Rank relabelled(Rank node, Rank last) { return last % 2 == 0 ? last + 1 - node : node % last + 1; }

Tree in_order_tree(Rank ranks, Rank root, bool is_second) {
  const Rank last = ranks - 1;
  const auto rank_of = [&](Rank node) {
    const Rank label = is_second && node != 0 ? relabelled(node, last) : node;
    return ahead(label, root, ranks);
  };
  std::vector<Rank> parent(ranks);
  parent[root] = root;
  for (Rank node = 1; node < ranks; ++node) parent[rank_of(node)] = rank_of(in_order_parent(node, ranks));
  return Tree{parent};
}

std::unique_ptr<Schedule> plan_trees(const PlanRequest& request) {
  const Rank root = request.operation == Operation::kAllReduce ? 0 : request.root;
  std::vector<Tree> trees{in_order_tree(request.ranks, root, false),
                          in_order_tree(request.ranks, root, true)};
  return flow(request.operation, request.ranks, std::move(trees), request.pieces);
}

}  // namespace

Algorithm double_binary_tree() {
  return {
      .name = "double_binary_tree",
      .help = "Two binary trees with half the data each, pipelined; leaves of one are inside the other.",
      .operations = {Operation::kAllReduce, Operation::kBroadcast, Operation::kReduce},
      .refusal = {},
      .plan = plan_trees,
      .wire_bytes = [](const PlanRequest& request,
                       const Layout& layout) { return flow_bytes(request.operation, request.ranks, layout); },
  };
}

}  // namespace orrery::collectives::plan
