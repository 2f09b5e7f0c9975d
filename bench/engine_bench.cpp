// SPDX-License-Identifier: Apache-2.0
// Our side of the engine benchmark; simgrid/peer.cpp runs the same programs. Prints the simulated seconds.
// usage: bench_orrery ring HOSTS BYTES | alltoall HOSTS BYTES_PER_HOST JITTER | pingpong MESSAGES BYTES
//        [--network flow:resolve_delay=1us] [--cluster C]
#include <cstdio>
#include <map>
#include <string>

#include "orrery/base/memory.hpp"
#include "orrery/collectives/algorithm.hpp"
#include "orrery/collectives/run/collective_run.hpp"
#include "orrery/network/mailbox.hpp"
#include "orrery/topology/load_cluster.hpp"
#include "workload.hpp"

namespace {

using namespace orrery;

struct Machine {
  Machine(const std::string& cluster_text, const std::string& model)
      : cluster{topology::load_cluster(cluster_text)},
        router{cluster.graph},
        context{engine, router, cluster.jitter, 0} {
    std::string name;
    const config::Document settings = config::Document::from_line(model, "--network", name);
    const network::NetworkRegistry registry = network::builtin_networks();
    network = registry.get(name, "--network").prepare(config::Cursor{settings})(context);
  }
  topology::Cluster cluster;
  engine::Engine engine;
  topology::Router router;
  network::NetworkContext context;
  std::unique_ptr<network::NetworkModel> network;
};

Time run_collective(Machine& machine, collectives::Operation operation, const char* algorithm,
                    const std::vector<Bytes>* sizes, Bytes total) {
  const collectives::AlgorithmRegistry registry = collectives::builtin_algorithms();
  collectives::PlanRequest request;
  request.operation = operation;
  request.ranks = static_cast<collectives::Rank>(machine.cluster.ranks.size());
  const std::unique_ptr<collectives::Schedule> schedule = registry.get(algorithm).plan(request);
  const collectives::Layout layout = sizes != nullptr
                                         ? collectives::Layout{*sizes}
                                         : collectives::Layout::even(total, schedule->chunk_count());
  collectives::CollectiveRun run{{machine.engine,
                                  *machine.network,
                                  machine.router,
                                  *schedule,
                                  layout,
                                  machine.cluster.ranks,
                                  {collectives::EndpointCosts{}},
                                  algorithm}};
  for (collectives::Rank rank = 0; rank < request.ranks; ++rank) run.arrive(rank);
  machine.engine.run();
  return run.finish();
}

engine::Task<> player(long rank, long messages, Bytes bytes, network::Mailbox& out, network::Mailbox& in) {
  for (long i = 0; i < messages; ++i) {
    if (i % 2 == rank) {
      out.post(bytes);
    } else {
      co_await in.receive();
    }
  }
}

Time run_pingpong(Machine& machine, long messages, Bytes bytes) {
  network::Mailbox there{machine.context, *machine.network, machine.cluster.ranks[0],
                         machine.cluster.ranks[1]};
  network::Mailbox back{machine.context, *machine.network, machine.cluster.ranks[1],
                        machine.cluster.ranks[0]};
  engine::Task<> first = player(0, messages, bytes, there, back);
  engine::Task<> second = player(1, messages, bytes, back, there);
  first.start();
  second.start();
  machine.engine.run();
  return machine.engine.now();
}

}  // namespace

int main(int argc, char** argv) {
  orrery::prepare_heap();  // As the command does.
  std::vector<std::string> words;
  std::map<std::string, std::string> options;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word.starts_with("--") && i + 1 < argc) {
      options[word] = argv[++i];
    } else {
      words.push_back(word);
    }
  }
  const std::string& what = words.at(0);
  const int hosts = what == "pingpong" ? 2 : std::stoi(words.at(1));
  const std::string star = fmt::format("star:hosts={},bandwidth=25GBps,latency=500ns", hosts);
  Machine machine{options.contains("--cluster") ? options["--cluster"] : star,
                  options.contains("--network") ? options["--network"] : "flow"};
  Time end{};
  if (what == "ring") {
    end = run_collective(machine, collectives::Operation::kAllReduce, "ring", nullptr,
                         Bytes{std::stol(words.at(2))});
  } else if (what == "alltoall") {
    std::vector<Bytes> sizes;
    sizes.reserve(static_cast<std::size_t>(hosts) * static_cast<std::size_t>(hosts));
    const double bytes = std::stod(words.at(2));
    const double jitter = std::stod(words.at(3));
    for (int i = 0; i < hosts; ++i) {
      for (int j = 0; j < hosts; ++j) {
        sizes.emplace_back(i == j ? 0 : bench::pair_bytes(i, j, hosts, bytes, jitter));
      }
    }
    end = run_collective(machine, collectives::Operation::kAllToAll, "direct", &sizes, Bytes{});
  } else {
    end = run_pingpong(machine, std::stol(words.at(1)), Bytes{std::stol(words.at(2))});
  }
  std::printf("%.12e\n", static_cast<double>(count_ps(end)) * 1e-12);
  return 0;
}
