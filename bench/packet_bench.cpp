// SPDX-License-Identifier: Apache-2.0
// Speed of the packet model: every host of a fat tree sends to another one (a random permutation, or its
// neighbour), or all to all.
// usage: bench_packet CLUSTER permutation|shift|alltoall BYTES [SETTINGS]
// Prints packet hops, CPU seconds of the run, and the simulated seconds.
#include <cstdio>
#include <ctime>
#include <numeric>
#include <string>
#include <vector>

#include "orrery/base/memory.hpp"
#include "orrery/base/rng.hpp"
#include "orrery/network/test_network.hpp"

namespace {

using namespace orrery;

/// A cycle through all hosts in random order: nobody sends to itself.
std::vector<std::size_t> random_targets(std::size_t hosts) {
  std::vector<std::size_t> order(hosts);
  std::iota(order.begin(), order.end(), 0);
  Rng rng{1, "permutation"};
  for (std::size_t i = hosts - 1; i > 0; --i) {
    std::swap(order[i], order[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(i)))]);
  }
  std::vector<std::size_t> target(hosts);
  for (std::size_t i = 0; i < hosts; ++i) target[order[i]] = order[(i + 1) % hosts];
  return target;
}

double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  orrery::prepare_heap();
  const std::string settings = argc > 4 ? std::string{":"} + argv[4] : std::string{};
  network::TestNetwork net{"packet" + settings, argv[1]};
  const std::size_t hosts = net.cluster().ranks.size();
  const Bytes size{std::stol(argv[3])};
  if (std::string{argv[2]} == "permutation") {
    const std::vector<std::size_t> target = random_targets(hosts);
    for (std::size_t host = 0; host < hosts; ++host) net.send(Time{}, host, target[host], size);
  } else if (std::string{argv[2]} == "shift") {
    for (std::size_t host = 0; host < hosts; ++host) net.send(Time{}, host, (host + 1) % hosts, size);
  } else {
    for (std::size_t step = 1; step < hosts; ++step) {
      for (std::size_t host = 0; host < hosts; ++host) net.send(Time{}, host, (host + step) % hosts, size);
    }
  }
  const double begin = cpu_seconds();
  net.run();
  const double seconds = cpu_seconds() - begin;
  std::uint64_t hops = 0;
  for (const network::LinkCounters& link : net.model().link_counters()) hops += link.packets;
  std::printf("%llu %.6f %.9f\n", static_cast<unsigned long long>(hops), seconds,
              static_cast<double>(count_ps(net.engine().now())) * 1e-12);
  return 0;
}
