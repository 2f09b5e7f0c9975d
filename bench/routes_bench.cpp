// SPDX-License-Identifier: Apache-2.0
// Loads a cluster and routes random pairs of ranks. usage: bench_routes CLUSTER PAIRS
#include <cstdio>
#include <string>

#include "orrery/base/rng.hpp"
#include "orrery/topology/load_cluster.hpp"
#include "orrery/topology/router.hpp"

int main(int argc, char** argv) {
  using namespace orrery;
  if (argc != 3) return 2;
  const topology::Cluster cluster = topology::load_cluster(argv[1]);
  if (cluster.graph.component_count() != 1) return 1;
  topology::Router router{cluster.graph};
  Rng rng{1, "pairs"};
  const auto last = static_cast<std::int64_t>(cluster.ranks.size()) - 1;
  std::size_t hops = 0;
  for (long pair = 0; pair < std::stol(argv[2]); ++pair) {
    const auto a = static_cast<std::size_t>(rng.between(0, last));
    const auto b = static_cast<std::size_t>(rng.between(0, last));
    hops += router.links(router.route(cluster.ranks[a], cluster.ranks[b])).size();
  }
  std::printf("%zu nodes, %zu edges, %zu ranks, %zu hops\n", cluster.graph.node_count(),
              cluster.graph.edge_count(), cluster.ranks.size(), hops);
  return 0;
}
