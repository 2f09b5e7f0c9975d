// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For tests: a run described in a few lines, with ASTRA-sim's usual example (a ring of 50 GB/s and 500 ns, four
/// chunks, ring algorithms) as the default.
#include <fmt/format.h>

#include <functional>
#include <string>
#include <vector>

#include "orrery/astra/simulate.hpp"
#include "orrery/testing/temporary_folder.hpp"

namespace orrery::astra::test {

using workload::Op;
using workload::OpKind;

inline Op collective(std::uint64_t id, collectives::Operation operation, std::int64_t size,
                     std::vector<std::uint64_t> after = {}) {
  Op op;
  op.id = id;
  op.kind = OpKind::kCollective;
  op.operation = operation;
  op.size = Bytes{size};
  op.data_deps = std::move(after);
  return op;
}

inline Op all_reduce(std::int64_t size, std::uint64_t id = 1) {
  return collective(id, collectives::Operation::kAllReduce, size);
}

inline Op compute(std::uint64_t id, std::int64_t micros, std::vector<std::uint64_t> after = {}) {
  Op op;
  op.id = id;
  op.kind = OpKind::kCompute;
  op.recorded = std::chrono::microseconds{micros};
  op.data_deps = std::move(after);
  return op;
}

inline Op message(std::uint64_t id, OpKind kind, workload::Rank peer, std::int64_t size,
                  std::int64_t tag = 0) {
  Op op;
  op.id = id;
  op.kind = kind;
  op.peer = peer;
  op.size = Bytes{size};
  op.tag = tag;
  return op;
}

struct Case {
  std::string topology = "Ring";  ///< Lists, as in the file, without brackets.
  std::string npus = "8";
  std::string bandwidth = "50";
  std::string latency = "500";
  std::string algorithms = "\"ring\"";
  std::string system = "";  ///< Further keys, each with a comma before it.
  std::string policy = "LIFO";
  int splits = 4;
  int active = 1;
  double memory_bandwidth = 1600;
  bool is_aware = false;
  bool is_rendezvous = false;
  bool may_fold = true;
  std::uint32_t queues = 1;
  std::string memory{};  ///< A whole file; "" = none.
  std::string groups{};
  std::function<std::vector<Op>(workload::Rank)> ops = [](workload::Rank) {
    return std::vector{all_reduce(1 << 20)};
  };
  std::function<workload::Workload(const std::string&)> open_custom{};
};

inline Outcome run(const Case& from) {
  const orrery::test::TemporaryFolder folder;
  const auto write = [&](const char* name, const std::string& text) { return folder.write(name, text); };
  std::string lists;
  for (const char* name : {"all-reduce", "all-gather", "reduce-scatter", "all-to-all"}) {
    lists += fmt::format(", \"{}-implementation\": [{}]", name, from.algorithms);
  }
  const std::string system = fmt::format(
      R"({{"scheduling-policy": "{}", "endpoint-delay": 10, "active-chunks-per-dimension": {},
"preferred-dataset-splits": {}, "collective-optimization": "localBWAware", "local-mem-bw": {}{}{}}})",
      from.policy, from.active, from.splits, from.memory_bandwidth, lists, from.system);
  Warnings warnings;
  Inputs inputs;
  inputs.system = read_system(write("system.json", system), 1, warnings);
  inputs.network =
      read_network(write("network.yml", fmt::format("topology: [{}]\nnpus_count: [{}]\nbandwidth: [{}]\n"
                                                    "latency: [{}]\n",
                                                    from.topology, from.npus, from.bandwidth, from.latency)),
                   warnings);
  if (!from.memory.empty()) inputs.memory = read_memory(write("memory.json", from.memory), warnings);
  if (!from.groups.empty()) {
    inputs.groups = read_groups(write("groups.json", from.groups), inputs.network.npus());
  }
  std::vector<std::vector<Op>> ops;
  for (workload::Rank rank = 0; rank < inputs.network.npus(); ++rank) ops.push_back(from.ops(rank));
  inputs.workload = workload::stored_workload("test", std::move(ops));
  inputs.is_aware = from.is_aware;
  inputs.is_rendezvous = from.is_rendezvous;
  inputs.may_fold = from.may_fold;
  inputs.queues_per_dim = from.queues;
  inputs.open_custom = from.open_custom;
  Outcome outcome = simulate(inputs);
  outcome.warnings.insert(outcome.warnings.begin(), warnings.begin(), warnings.end());
  return outcome;
}

/// Of the rank that finishes last.
inline std::uint64_t cycles(const Case& from) { return run(from).cycles; }

}  // namespace orrery::astra::test
