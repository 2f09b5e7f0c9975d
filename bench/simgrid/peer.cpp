// SPDX-License-Identifier: Apache-2.0
// The peer's side of the engine benchmark: the same programs on SimGrid's s4u interface, in pure max-min mode
// (no TCP window, no cross traffic, no latency weighting; every path of the platform has the same latency).
// usage: bench_simgrid ring HOSTS BYTES | alltoall HOSTS BYTES_PER_HOST JITTER | pingpong MESSAGES BYTES
#include <cstdio>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "../workload.hpp"

namespace sg4 = simgrid::s4u;

namespace {

sg4::Mailbox* box(int from, int to) {
  return sg4::Mailbox::by_name(std::to_string(from) + ">" + std::to_string(to));
}

void ring_rank(int rank, int hosts, double bytes) {
  const int next = (rank + 1) % hosts;
  const int previous = (rank + hosts - 1) % hosts;
  sg4::Mailbox* out = box(rank, next);
  sg4::Mailbox* in = box(previous, rank);
  static int token = 0;
  for (int step = 0; step < 2 * (hosts - 1); ++step) {
    const sg4::CommPtr sent = out->put_async(&token, static_cast<uint64_t>(bytes / hosts));
    in->get<int>();
    sent->wait();
  }
}

void alltoall_rank(int rank, int hosts, double bytes, double jitter) {
  static int token = 0;
  std::vector<sg4::CommPtr> pending;
  std::vector<int*> got(static_cast<size_t>(hosts), nullptr);
  for (int i = 1; i < hosts; ++i) {
    const int peer = (rank + i) % hosts;
    pending.push_back(
        box(rank, peer)
            ->put_async(&token, static_cast<uint64_t>(bench::pair_bytes(rank, peer, hosts, bytes, jitter))));
  }
  for (int i = 1; i < hosts; ++i) {
    const int peer = (rank + hosts - i) % hosts;
    pending.push_back(box(peer, rank)->get_async<int>(&got[static_cast<size_t>(peer)]));
  }
  sg4::Comm::wait_all(pending);
}

void pingpong_rank(int rank, long messages, double bytes) {
  static int token = 0;
  for (long i = 0; i < messages; ++i) {
    if (i % 2 == rank) {
      box(rank, 1 - rank)->put(&token, static_cast<uint64_t>(bytes));
    } else {
      box(1 - rank, rank)->get<int>();
    }
  }
}

/// SimGrid's star zone: its routes cost memory in the number of hosts only, as ours do.
void make_star(int hosts) {
  auto* zone = sg4::create_star_zone("star");
  for (int i = 0; i < hosts; ++i) {
    const std::string name = std::to_string(i);
    sg4::Host* host = zone->create_host("h" + name, 1e9);
    const sg4::Link* up =
        zone->create_link("u" + name, bench::kBandwidth)->set_latency(bench::kLatency)->seal();
    const sg4::Link* down =
        zone->create_link("d" + name, bench::kBandwidth)->set_latency(bench::kLatency)->seal();
    zone->add_route(host->get_netpoint(), nullptr, nullptr, nullptr,
                    {{up, sg4::LinkInRoute::Direction::NONE}}, false);
    zone->add_route(nullptr, host->get_netpoint(), nullptr, nullptr,
                    {{down, sg4::LinkInRoute::Direction::NONE}}, false);
  }
  zone->seal();
}

}  // namespace

int main(int argc, char** argv) {
  sg4::Engine engine(&argc, argv);
  const std::string what = argv[1];
  const int hosts = what == "pingpong" ? 2 : std::stoi(argv[2]);
  make_star(hosts);
  for (int i = 0; i < hosts; ++i) {
    sg4::Host* host = sg4::Host::by_name("h" + std::to_string(i));
    if (what == "ring") {
      sg4::Actor::create("r" + std::to_string(i), host, ring_rank, i, hosts, std::stod(argv[3]));
    } else if (what == "alltoall") {
      sg4::Actor::create("r" + std::to_string(i), host, alltoall_rank, i, hosts, std::stod(argv[3]),
                         std::stod(argv[4]));
    } else {
      sg4::Actor::create("r" + std::to_string(i), host, pingpong_rank, i, std::stol(argv[2]),
                         std::stod(argv[3]));
    }
  }
  engine.run();
  std::printf("%.12e\n", sg4::Engine::get_clock());
  return 0;
}
