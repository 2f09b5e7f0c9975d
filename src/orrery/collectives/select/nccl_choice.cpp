// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/select/nccl_choice.hpp"

#include <algorithm>

#include "orrery/base/check.hpp"
#include "orrery/collectives/select/nccl_table.hpp"

namespace orrery::collectives {
namespace {

/// Latency and bandwidth between neighbours of the ring, the worst of them: what its steps wait for.
struct Neighbours {
  Duration latency{};
  Bandwidth bandwidth;
};

Neighbours worst_neighbours(const SelectionContext& context) {
  Neighbours worst;
  const std::size_t count = context.nodes.size();
  for (std::size_t i = 0; i < count; ++i) {
    const topology::Route route =
        context.router.get(context.router.route(context.nodes[i], context.nodes[(i + 1) % count]));
    worst.latency = std::max(worst.latency, route.latency);
    if (route.links.empty()) continue;  // Two ranks on one device.
    if (worst.bandwidth == Bandwidth{} || route.bottleneck < worst.bandwidth) {
      worst.bandwidth = route.bottleneck;
    }
  }
  if (worst.bandwidth == Bandwidth{}) worst.bandwidth = Bandwidth::bits_per_second(std::int64_t{1} << 50);
  return worst;
}

bool spans_hosts(const SelectionContext& context) {
  const std::vector<std::string>& group = context.cluster.node_group;
  if (group.empty()) return false;
  return std::ranges::any_of(context.nodes, [&](topology::NodeId node) {
    return group[node.index()] != group[context.nodes[0].index()];
  });
}

/// Operations without a table of their own run as NCCL runs them, at the cost of its rings.
std::string algorithm_beside_table(Operation operation) {
  switch (operation) {
    case Operation::kBroadcast:
    case Operation::kReduce:
      return "chain";
    case Operation::kGather:
    case Operation::kScatter:
      return "flat";
    case Operation::kSendReceive:
      return "point_to_point";
    default:
      return "bruck";  // A barrier.
  }
}

}  // namespace

NcclRun choose_nccl_run(const CollectiveRequest& request, const SelectionContext& context) {
  const std::string& platform = context.cluster.nccl_platform;
  if (platform.empty()) {
    throw InputError{
        fmt::format("cluster '{}' names no NCCL platform (key nccl_platform), so 'nccl' has no table to "
                    "choose from; use auto, or a preset such as hgx-h100",
                    context.cluster.name)};
  }
  const NcclTable table = load_nccl_table(fmt::format("{}/nccl/{}.yaml", context.catalog, platform));
  const Neighbours neighbours = worst_neighbours(context);
  const bool is_covered = covers(table, request.operation);
  const NcclChoice choice =
      choose(table, {.operation = is_covered ? request.operation : Operation::kAllReduce,
                     .ranks = static_cast<Rank>(context.nodes.size()),
                     .size = request.size,
                     .path_latency = neighbours.latency,
                     .link_bandwidth = neighbours.bandwidth,
                     .floating = request.floating});
  NcclRun run;
  run.algorithm = is_covered ? choice.algorithm : algorithm_beside_table(request.operation);
  run.label = fmt::format("nccl: {} {}", run.algorithm, choice.protocol);
  if (!is_covered) run.label += " (untabulated)";
  if (spans_hosts(context)) run.label += " (beyond one host: extrapolated)";
  run.pieces = is_covered ? choice.pieces : 8;
  run.launch = choice.launch;
  run.step_overhead = choice.step_overhead;
  run.wire_scale = 1 / choice.efficiency;
  return run;
}

}  // namespace orrery::collectives
