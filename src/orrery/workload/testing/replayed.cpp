// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/testing/replayed.hpp"

#include "orrery/topology/load_cluster.hpp"

namespace orrery::workload::test {
namespace {

Op named(std::uint64_t id, OpKind kind, const char* name, std::vector<std::uint64_t> deps) {
  Op op;
  op.id = id;
  op.kind = kind;
  op.name = name;
  op.data_deps = std::move(deps);
  return op;
}

class Order final : public OpRecorder {
 public:
  void on_op(const OpRecord& record) override { ids.push_back(record.id); }
  std::vector<std::uint64_t> ids;
};

}  // namespace

Op compute(std::uint64_t id, Duration recorded, std::vector<std::uint64_t> deps) {
  Op op = named(id, OpKind::kCompute, "compute", std::move(deps));
  op.recorded = recorded;
  return op;
}

Op collective(std::uint64_t id, collectives::Operation operation, Bytes size,
              std::vector<std::uint64_t> deps) {
  Op op = named(id, OpKind::kCollective, "collective", std::move(deps));
  op.operation = operation;
  op.size = size;
  return op;
}

Op send(std::uint64_t id, Rank to, Bytes size, std::int64_t tag, std::vector<std::uint64_t> deps) {
  Op op = named(id, OpKind::kSend, "send", std::move(deps));
  op.peer = to;
  op.size = size;
  op.tag = tag;
  return op;
}

Op receive(std::uint64_t id, Rank from, Bytes size, std::int64_t tag, std::vector<std::uint64_t> deps) {
  Op op = named(id, OpKind::kReceive, "receive", std::move(deps));
  op.peer = from;
  op.size = size;
  op.tag = tag;
  return op;
}

Replayed replay(const Workload& workload, const Options& options) {
  const topology::Cluster cluster = topology::load_cluster(options.cluster);
  topology::Router router{cluster.graph};
  engine::Engine engine;
  network::NetworkContext context{.engine = engine, .router = router};
  std::string model;
  const config::Document settings = config::Document::from_line(options.network, "--network", model);
  const network::NetworkRegistry networks = network::builtin_networks();
  const auto network = networks.get(model, "--network").prepare(config::Cursor{settings})(context);
  ComputeTime compute_time = ComputeTime::parse(options.compute, "--compute");
  Order order;
  Executor executor{{.engine = engine,
                     .network = *network,
                     .router = router,
                     .cluster = cluster,
                     .workload = workload,
                     .compute = compute_time,
                     .algorithm = options.algorithm,
                     .fallback = "gloo",
                     .catalog = {},
                     .streams = options.streams,
                     .eager_limit = options.eager_limit,
                     .window = options.window,
                     .folds = options.folds,
                     .recorder = &order}};
  executor.run();
  Replayed replayed;
  for (Rank rank = 0; rank < workload.ranks; ++rank) {
    replayed.ranks.push_back(executor.times(rank));
    replayed.total = std::max(replayed.total, executor.times(rank).finish);
  }
  replayed.order = order.ids;
  replayed.collectives = executor.collectives();
  for (const CollectiveTotal& total : replayed.collectives) replayed.folded += total.folded;
  replayed.links = executor.link_counters();
  replayed.digest = engine.digest();
  return replayed;
}

}  // namespace orrery::workload::test
