// SPDX-License-Identifier: Apache-2.0
// bench_replay RANKS NODES EVERY NETWORK [unfolded]: a training-like workload of RANKS x NODES operations, made while
// it is read: computing, with an all_reduce of all ranks in every EVERY-th place. Prints the simulated seconds and how
// many collectives were folded.
#include <fmt/format.h>

#include <string>

#include "orrery/base/memory.hpp"
#include "orrery/base/text.hpp"
#include "orrery/topology/load_cluster.hpp"
#include "orrery/workload/executor.hpp"

namespace {

using namespace orrery;
using namespace orrery::workload;

class TrainingSource final : public OpSource {
 public:
  TrainingSource(std::uint64_t nodes, std::uint64_t every) : nodes_{nodes}, every_{every} {}
  bool next(Op& op) override {
    if (id_ == nodes_) return false;
    op.id = ++id_;
    if (id_ > 1) op.data_deps.push_back(id_ - 1);
    if (id_ % every_ == 0) {
      op.kind = OpKind::kCollective;
      op.name = "gradients";
      op.size = Bytes{std::int64_t{1} << 20};
    } else {
      op.kind = OpKind::kCompute;
      op.name = "layer";
      op.recorded = Duration{1'000'000 + static_cast<std::int64_t>(id_ % 7) * 1000};
    }
    return true;
  }

 private:
  std::uint64_t nodes_;
  std::uint64_t every_;
  std::uint64_t id_ = 0;
};

std::int64_t number(const char* text) { return parse_integer(text).value_or(0); }

}  // namespace

int main(int argc, char** argv) {
  prepare_heap();
  if (argc < 5) return 2;
  const auto ranks = static_cast<Rank>(number(argv[1]));
  const auto nodes = static_cast<std::uint64_t>(number(argv[2]));
  const auto every = static_cast<std::uint64_t>(number(argv[3]));
  const topology::Cluster cluster =
      topology::load_cluster(fmt::format("star:hosts={},bandwidth=100Gbps,latency=1us", ranks));
  topology::Router router{cluster.graph};
  engine::Engine engine;
  network::NetworkContext context{.engine = engine, .router = router};
  std::string model;
  const config::Document settings = config::Document::from_line(argv[4], "network", model);
  const network::NetworkRegistry networks = network::builtin_networks();
  const auto network = networks.get(model, "network").prepare(config::Cursor{settings})(context);
  ComputeTime compute = ComputeTime::parse("recorded", "compute");
  const Workload workload{.name = "training", .ranks = ranks, .open = [&](Rank) {
                            return std::make_unique<TrainingSource>(nodes, every);
                          }};
  Executor executor{{.engine = engine,
                     .network = *network,
                     .router = router,
                     .cluster = cluster,
                     .workload = workload,
                     .compute = compute,
                     .algorithm = "ring",
                     .fallback = "gloo",
                     .catalog = {},
                     .folds = argc < 6}};
  executor.run();
  std::uint64_t folded = 0;
  for (const CollectiveTotal& total : executor.collectives()) folded += total.folded;
  fmt::print("{} {}\n", static_cast<double>(count_ps(engine.now())) * 1e-12, folded);
}
