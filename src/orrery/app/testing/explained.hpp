// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Small workloads on a star where a message takes 1 ms and 1 ms for each megabyte, and what `explain` says of them.
#include <string>
#include <utility>
#include <vector>

#include "orrery/app/explain.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::app::test {

using workload::Op;
using workload::OpKind;
using Ids = std::vector<std::uint64_t>;

inline Op make_op(std::uint64_t id, OpKind kind, std::string name, Ids deps) {
  Op op;
  op.id = id;
  op.kind = kind;
  op.name = std::move(name);
  op.data_deps = std::move(deps);
  return op;
}

inline Op compute(std::uint64_t id, Duration time, Ids deps = {}) {
  Op op = make_op(id, OpKind::kCompute, "compute", std::move(deps));
  op.recorded = time;
  return op;
}

/// An all_gather: of two ranks, it takes 1 ms and 1 ms for each megabyte.
inline Op gather(std::uint64_t id, std::int64_t megabytes, Ids deps, std::string name = "gather at a.py:1") {
  Op op = make_op(id, OpKind::kCollective, std::move(name), std::move(deps));
  op.operation = collectives::Operation::kAllGather;
  op.size = Bytes{megabytes * 1'000'000};
  return op;
}

inline Op message(std::uint64_t id, OpKind kind, workload::Rank peer, std::int64_t megabytes, Ids deps = {}) {
  Op op = make_op(id, kind, kind == OpKind::kSend ? "send" : "recv", std::move(deps));
  op.peer = peer;
  op.size = Bytes{megabytes * 1'000'000};
  return op;
}

inline Op independent(Op op, Duration time, std::uint64_t of, Duration again = {}) {
  op.independent = {.time = time, .again = again, .what = "linear at a.py:2", .of = of};
  return op;
}

inline ReplayPlan plan_of(std::vector<std::vector<Op>> ops, const std::string& streams = "comm=all") {
  ReplayPlan plan;
  plan.workload = workload::stored_workload("test", std::move(ops));
  plan.cluster = topology::load_cluster("star:hosts=4,bandwidth=1GBps,latency=500us");
  plan.network = choose_network("flow", network::builtin_networks(), "--network");
  plan.compute = workload::ComputeTime::parse("recorded", "--compute");
  plan.streams = workload::parse_streams(streams, "--streams");
  plan.algorithm = "ring";
  plan.fallback = "gloo";
  return plan;
}

inline ExplainResult explained(std::vector<std::vector<Op>> ops, const ExplainOptions& options = {}) {
  return explain(plan_of(std::move(ops)), options);
}

}  // namespace orrery::app::test
