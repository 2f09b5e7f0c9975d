// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/select/selector.hpp"

#include <algorithm>
#include <cmath>

#include "orrery/base/check.hpp"
#include "orrery/base/text.hpp"
#include "orrery/collectives/plan/msccl.hpp"
#include "orrery/collectives/select/aggregation.hpp"
#include "orrery/collectives/select/gloo.hpp"
#include "orrery/collectives/select/nccl_choice.hpp"

namespace orrery::collectives {
namespace {

/// Sizes of the grid of ranks: ranks per host, hosts. Empty unless every host holds equally many, in a row.
std::vector<std::uint32_t> host_grid(const SelectionContext& context) {
  const std::vector<std::string>& group = context.cluster.node_group;
  if (group.empty()) return {};
  std::vector<std::uint32_t> runs;
  const std::string* last = nullptr;
  for (const topology::NodeId node : context.nodes) {
    const std::string& host = group[node.index()];
    if (host.empty()) return {};
    if (last == nullptr || *last != host) runs.push_back(0);
    ++runs.back();
    last = &host;
  }
  const bool is_even = std::ranges::all_of(runs, [&](std::uint32_t run) { return run == runs.front(); });
  if (!is_even || runs.size() < 2 || runs.front() < 2) return {};
  return {runs.front(), static_cast<std::uint32_t>(runs.size())};
}

/// Parts a pipelined algorithm cuts the buffer into: sqrt(size * depth / bandwidth-delay product), where one more
/// part costs as much latency as it saves in waiting for the first.
std::uint32_t pipeline_pieces(const std::string& algorithm, const CollectiveRequest& request,
                              const SelectionContext& context) {
  const bool is_chain = algorithm == "chain";
  if (!is_chain && algorithm != "double_binary_tree" && algorithm != "offload") return 1;
  if (context.nodes.size() < 2 || request.size.count() == 0) return 1;
  const topology::Route route = context.router.get(context.router.route(context.nodes[0], context.nodes[1]));
  const double product =
      std::max(1.0, static_cast<double>(route.latency.count()) * route.bottleneck.bytes_per_picosecond());
  const auto ranks = static_cast<double>(context.nodes.size());
  const double depth = is_chain ? ranks : std::log2(ranks) + 1;
  constexpr double kMost = 256;
  constexpr double kSmallestPiece = 1024;
  const auto size = static_cast<double>(request.size.count());
  const double best = std::sqrt(size * depth / product);
  return static_cast<std::uint32_t>(
      std::clamp(std::floor(std::min(best, size / kSmallestPiece)), 1.0, kMost));
}

EndpointCosts device_costs(const SelectionContext& context, std::size_t rank) {
  const topology::DeviceSpec& device =
      context.cluster.devices[context.cluster.device_of_rank[context.ranks[rank]]];
  return {.launch = device.operation_overhead,
          .send_overhead = device.send_overhead,
          .receive_overhead = device.receive_overhead,
          .reduce_bandwidth = device.reduce_bandwidth,
          .wire_scale = 1.0};
}

/// A choice for `algorithm` with the cluster's own endpoint costs.
Choice plain_choice(const std::string& algorithm, const CollectiveRequest& request,
                    const SelectionContext& context) {
  Choice choice;
  choice.algorithm = algorithm;
  choice.label = algorithm;
  choice.request.operation = request.operation;
  choice.request.ranks = static_cast<Rank>(context.nodes.size());
  choice.request.root = request.root;
  choice.request.pieces = pipeline_pieces(algorithm, request, context);
  choice.nodes.assign(context.nodes.begin(), context.nodes.end());
  if (algorithm == "hierarchical") choice.request.dims = host_grid(context);
  if (algorithm == "offload") {
    Aggregation aggregation = find_aggregation(context.router, context.nodes);
    choice.request.tree = std::move(aggregation.tree);
    if (!aggregation.nodes.empty()) choice.nodes = std::move(aggregation.nodes);
  }
  for (std::size_t rank = 0; rank < context.nodes.size(); ++rank) {
    choice.costs.push_back(context.cluster.devices.empty() ? EndpointCosts{} : device_costs(context, rank));
  }
  choice.costs.resize(choice.nodes.size());  // Switches are free.
  return choice;
}

std::string refusal_of(const Choice& choice, const SelectionContext& context) {
  // Planned without a grid it would be a ring under another name.
  if (choice.algorithm == "hierarchical" && choice.request.dims.empty()) {
    return "the ranks do not sit on two or more hosts, equally many on each and in order";
  }
  const Algorithm& algorithm = context.algorithms.get(choice.algorithm);
  return algorithm.refusal(choice.request);
}

std::vector<Choice> all_able(const CollectiveRequest& request, const SelectionContext& context) {
  std::vector<Choice> choices;
  for (const Algorithm& algorithm : context.algorithms.all()) {
    if (std::ranges::find(algorithm.operations, request.operation) == algorithm.operations.end()) continue;
    if (algorithm.name == "offload" && !context.cluster.switches_reduce) continue;  // By name it still runs.
    Choice choice = plain_choice(algorithm.name, request, context);
    if (refusal_of(choice, context).empty()) choices.push_back(std::move(choice));
  }
  if (choices.empty()) {
    throw InputError{
        fmt::format("no algorithm can run {} on {} ranks", to_text(request.operation), context.nodes.size())};
  }
  return choices;
}

/// What gloo's call costs each rank's host beside the network.
void add_operation_costs(Choice& choice, const CollectiveRequest& request, const SelectionContext& context) {
  if (context.cluster.devices.empty()) return;
  for (std::size_t rank = 0; rank < context.nodes.size(); ++rank) {
    const topology::DeviceSpec& device =
        context.cluster.devices[context.cluster.device_of_rank[context.ranks[rank]]];
    const bool is_alone = topology::knows_alone(device, context.nodes.size(), to_text(request.operation));
    const topology::CostCurve* curve =
        topology::find_curve(is_alone ? device.alone_costs : device.operation_costs, to_text(request.operation));
    if (curve != nullptr) choice.costs[rank].launch += topology::cost_at(*curve, request.size);
    choice.costs[rank].send_buffer = device.send_buffer;
  }
}

/// ProcessGroupGloo gathers into one flat buffer and copies the parts out; reduce_scatter copies them in.
void add_staging(Choice& choice, const CollectiveRequest& request, const SelectionContext& context) {
  const Operation operation = request.operation;
  const bool is_gather = operation == Operation::kGather;
  if (!is_gather && operation != Operation::kAllGather && operation != Operation::kReduceScatter) return;
  for (std::size_t rank = 0; rank < context.nodes.size(); ++rank) {
    if (context.cluster.devices.empty() || (is_gather && rank != request.root)) continue;
    const Bandwidth copy =
        context.cluster.devices[context.cluster.device_of_rank[context.ranks[rank]]].copy_bandwidth;
    if (copy != Bandwidth{}) choice.costs[rank].launch += transfer_time(request.size, copy);
  }
}

/// How long a question takes at most beside the latency: as measured, or a message without bytes to a rank that has
/// slept.
Duration notice_of(const CollectiveRequest& request, const SelectionContext& context) {
  Duration longest{};
  for (std::size_t rank = 0; rank < context.nodes.size() && !context.cluster.devices.empty(); ++rank) {
    const topology::DeviceSpec& device =
        context.cluster.devices[context.cluster.device_of_rank[context.ranks[rank]]];
    const Duration message = device.send_overhead + device.receive_overhead +
                             topology::cost_at(device.operation_costs.send_recv, Bytes{}) +
                             topology::wake_at(device.wake_costs.send_recv, Duration::max());
    const topology::CostCurve* curve = topology::find_curve(device.notice_costs, to_text(request.operation));
    const bool is_measured = curve != nullptr && !curve->empty();
    longest = std::max(longest, is_measured ? topology::cost_at(*curve, request.size) : message);
  }
  return longest;
}

Choice gloo_choice(const CollectiveRequest& request, const SelectionContext& context) {
  const GlooPlan plan = gloo_plan(request.operation, static_cast<Rank>(context.nodes.size()), request.size,
                                  !request.sizes.empty());
  Choice choice = plain_choice(plan.algorithm, request, context);
  choice.request.operation = plan.operation;
  choice.request.pieces = plan.pieces;
  choice.request.window = plan.window;
  choice.label = "gloo: " + plan.algorithm;
  add_staging(choice, request, context);
  add_operation_costs(choice, request, context);
  // Nobody sends before the other one asks. In a ring of three and more nobody sends to whom it receives from.
  const bool is_mutual = request.operation == Operation::kAllToAll ||
                         (request.operation == Operation::kAllGather && context.nodes.size() == 2);
  choice.notice = is_mutual ? notice_of(request, context) : Duration::max();
  return choice;
}

Choice nccl_choice(const CollectiveRequest& request, const SelectionContext& context) {
  const NcclRun run = choose_nccl_run(request, context);
  Choice choice = plain_choice(run.algorithm, request, context);
  choice.label = run.label;
  choice.request.pieces = run.pieces;
  const EndpointCosts costs{.launch = run.launch,
                            .send_overhead = run.step_overhead,
                            .receive_overhead = {},
                            .reduce_bandwidth = {},
                            .wire_scale = run.wire_scale};
  choice.costs.assign(choice.nodes.size(), costs);
  return choice;
}

Choice msccl_choice(const std::string& path, const CollectiveRequest& request,
                    const SelectionContext& context) {
  if (path.empty()) {
    throw InputError{{"--algorithm", {}, {}, "msccl:", "expected a file, as in msccl:ring.xml", {}}};
  }
  Choice choice = plain_choice("msccl", request, context);
  choice.label = "msccl: " + path.substr(path.find_last_of('/') + 1);
  choice.schedule = plan::read_msccl(path, request.operation, choice.request.ranks);
  return choice;
}

Choice named_choice(const std::string& name, const CollectiveRequest& request,
                    const SelectionContext& context) {
  if (name == "gloo") return gloo_choice(request, context);
  if (name == "nccl") return nccl_choice(request, context);
  constexpr std::string_view kMsccl = "msccl:";
  if (name.starts_with(kMsccl)) return msccl_choice(name.substr(kMsccl.size()), request, context);
  if (name.ends_with(".xml")) return msccl_choice(name, request, context);
  static_cast<void>(context.algorithms.get(name));  // An unknown name is answered before anything else.
  Choice choice = plain_choice(name, request, context);
  const std::string refusal = refusal_of(choice, context);
  if (!refusal.empty()) {
    throw InputError{{.source = "--algorithm",
                      .position = {},
                      .field = {},
                      .value = name,
                      .expected = fmt::format("cannot run {} on {} ranks: {}", to_text(request.operation),
                                              context.nodes.size(), refusal),
                      .nearest = {}}};
  }
  return choice;
}

}  // namespace

std::vector<std::string> selection_words() { return {"all", "auto", "gloo", "nccl"}; }

std::vector<Choice> select(const std::string& selection, const CollectiveRequest& request,
                           const SelectionContext& context) {
  ORRERY_CHECK(!context.nodes.empty(), "a collective needs ranks");
  if (selection == "all" || selection == "auto") return all_able(request, context);
  std::vector<Choice> choices;
  for (const std::string_view name : split(selection, ',')) {
    choices.push_back(named_choice(std::string{trim(name)}, request, context));
  }
  return choices;
}

Layout layout_of(const CollectiveRequest& request, const Schedule& schedule) {
  const std::uint32_t chunks = schedule.chunk_count();
  const Rank ranks = schedule.ranks();
  std::uint32_t blocks = 1;  // Parts the operation itself asks for; chunks are parts of those.
  switch (request.operation) {
    case Operation::kAllGather:
    case Operation::kGather:
    case Operation::kReduceScatter:
    case Operation::kScatter:
      blocks = ranks;
      break;
    case Operation::kAllToAll:
      blocks = ranks * ranks;
      break;
    case Operation::kBarrier:
      return Layout::even(Bytes{0}, chunks);
    default:
      return Layout::even(request.size, chunks, request.element);
  }
  ORRERY_CHECK(request.sizes.empty() || request.sizes.size() == blocks, "{} sizes for {} blocks",
               request.sizes.size(), blocks);
  ORRERY_CHECK(chunks % blocks == 0, "{} chunks for {} blocks", chunks, blocks);
  const std::uint32_t pieces = chunks / blocks;
  std::vector<Bytes> sizes;
  sizes.reserve(chunks);
  for (std::uint32_t block = 0; block < blocks; ++block) {
    Bytes bytes{};
    if (!request.sizes.empty()) {
      bytes = request.sizes[block];
    } else {
      // Rank r's part of an even cut; earlier parts take the elements that are left over.
      const std::int64_t elements = div_ceil(request.size.count(), request.element.count());
      const std::int64_t part = block % ranks;
      bytes = request.element * (elements / ranks + (part < elements % ranks ? 1 : 0));
    }
    const std::int64_t elements = div_ceil(bytes.count(), request.element.count());
    std::int64_t given = 0;
    for (std::uint32_t piece = 0; piece < pieces; ++piece) {
      const std::int64_t until =
          std::min(bytes.count(), elements * (piece + 1) / pieces * request.element.count());
      sizes.emplace_back(until - given);
      given = until;
    }
  }
  return Layout{sizes};
}

double bus_factor(Operation operation, Rank ranks) {
  const auto n = static_cast<double>(ranks);
  switch (operation) {
    case Operation::kAllReduce:
      return 2 * (n - 1) / n;
    case Operation::kAllGather:
    case Operation::kReduceScatter:
    case Operation::kAllToAll:
    case Operation::kGather:
    case Operation::kScatter:
      return (n - 1) / n;
    default:
      return 1;
  }
}

}  // namespace orrery::collectives
