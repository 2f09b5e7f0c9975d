// SPDX-License-Identifier: Apache-2.0
// Hierarchical collectives over the dims of a grid, fastest first (BlueConnect, Cho et al., 2019; the multi-dimensional
// collectives of ASTRA-sim): most bytes move in the fast dims, the slow ones carry what is left.
//   all_reduce, reduce_scatter, all_gather   a ring per dim; bytes as for one ring: (n-1)S per phase
//   all_to_all   per dim, exchange with all in that line; a block moves once per dim in which its ends differ
//   broadcast, reduce, barrier   a binomial tree per dim, slowest dim first: (n-1)S per direction
// Without dims all ranks are one dim.
#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "orrery/collectives/plan/blocks.hpp"
#include "orrery/collectives/plan/grid_exchange.hpp"
#include "orrery/collectives/plan/grid_rings.hpp"
#include "orrery/collectives/plan/tree_flow.hpp"

namespace orrery::collectives::plan {

namespace {

Grid grid_of(const PlanRequest& request) {
  return Grid{request.dims.empty() ? std::vector<std::uint32_t>{request.ranks} : request.dims};
}

/// Everyone has its parent in the fastest dim in which it is not level with the root.
Tree grid_tree(const Grid& grid, Rank root) {
  std::vector<Rank> parent(grid.ranks());
  std::vector<std::pair<std::size_t, Rank>> order;  // Children in slow dims first, then near ones.
  for (Rank rank = 0; rank < grid.ranks(); ++rank) {
    std::size_t dim = 0;
    const auto from_root = [&] {
      return behind(grid.coordinate(rank, dim), grid.coordinate(root, dim), grid.size(dim));
    };
    while (dim < grid.dims() && from_root() == 0) ++dim;
    parent[rank] = rank;
    Rank away = 0;
    if (dim < grid.dims()) {
      away = from_root();
      const std::uint32_t above = away - std::bit_floor(away);
      parent[rank] = grid.moved(rank, dim, ahead(above, grid.coordinate(root, dim), grid.size(dim)));
    }
    order.emplace_back((grid.dims() - dim) * grid.ranks() + away, rank);
  }
  std::ranges::sort(order);
  std::vector<Rank> sorted;
  sorted.reserve(order.size());
  for (const auto& [key, rank] : order) sorted.push_back(rank);
  return Tree{std::move(parent), sorted};
}

std::unique_ptr<Schedule> plan_hierarchical(const PlanRequest& request) {
  const Grid grid = grid_of(request);
  switch (request.operation) {
    case Operation::kAllToAll:
      return plan_grid_exchange(grid);
    case Operation::kBarrier:
    case Operation::kBroadcast:
    case Operation::kReduce:
      return flow(request.operation, request.ranks, {grid_tree(grid, request.root)}, request.pieces);
    default:
      return std::make_unique<GridRings>(grid, GridRings::Spec{
                                                   .reduces = request.operation != Operation::kAllGather,
                                                   .gathers = request.operation != Operation::kReduceScatter,
                                                   .pieces = request.pieces,
                                               });
  }
}

std::string refuse_hierarchical(const PlanRequest& request) {
  const bool is_large = request.operation == Operation::kAllToAll && request.ranks > kMaxGridExchange;
  return is_large ? fmt::format("all_to_all takes at most {} ranks", kMaxGridExchange) : "";
}

}  // namespace

Algorithm hierarchical() {
  return {
      .name = "hierarchical",
      .help = "Dim after dim of a grid of ranks: fast dims move most, slow ones the rest.",
      .operations = {Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter,
                     Operation::kAllToAll, Operation::kBroadcast, Operation::kReduce, Operation::kBarrier},
      .refusal = refuse_hierarchical,
      .plan = plan_hierarchical,
      .wire_bytes =
          [](const PlanRequest& request, const Layout& layout) {
            const bool is_exchange = request.operation == Operation::kAllToAll;
            return is_exchange ? grid_exchange_bytes(grid_of(request), layout)
                               : flow_bytes(request.operation, request.ranks, layout);
          },
  };
}

}  // namespace orrery::collectives::plan
