// SPDX-License-Identifier: Apache-2.0
#include "orrery/astra/cluster.hpp"

#include <fmt/format.h>

#include <cmath>

#include "orrery/base/error.hpp"

namespace orrery::astra {
namespace {

using topology::NodeId;

topology::LinkSpec link_of(const Dimension& dim) {
  const double bytes_per_second = dim.gigabytes * (1 << 30);
  return {.bandwidth = Bandwidth::bytes_per_second(static_cast<std::int64_t>(std::llround(bytes_per_second))),
          .latency = picoseconds(std::llround(dim.latency * 1000))};
}

/// Cables between the members of one line of a dimension.
void connect_line(topology::Graph& graph, const Dimension& dim, const std::vector<NodeId>& members,
                  const std::string& name) {
  const topology::LinkSpec link = link_of(dim);
  switch (dim.shape) {
    case Shape::kRing: {
      const std::size_t cables = members.size() == 2 ? 1 : members.size();
      for (std::size_t i = 0; i < cables; ++i) {
        graph.connect(members[i], members[(i + 1) % members.size()], link);
      }
      break;
    }
    case Shape::kFullyConnected:
      for (std::size_t i = 0; i < members.size(); ++i) {
        for (std::size_t j = i + 1; j < members.size(); ++j) graph.connect(members[i], members[j], link);
      }
      break;
    case Shape::kSwitch: {
      const NodeId crossbar = graph.add_node(name, topology::NodeKind::kSwitch);
      for (const NodeId member : members) graph.connect(member, crossbar, link);
      break;
    }
  }
}

topology::DeviceSpec device_of(const SystemSettings* system) {
  topology::DeviceSpec device;
  device.name = "npu";
  if (system == nullptr) return device;
  device.peak = {system->peak};
  device.memory_bandwidth =
      Bandwidth::bytes_per_second(static_cast<std::int64_t>(std::llround(system->memory_bandwidth)));
  device.reduce_bandwidth =
      Bandwidth::bytes_per_second(static_cast<std::int64_t>(std::llround(system->memory_bandwidth / 3)));
  device.send_overhead = picoseconds(static_cast<std::int64_t>(system->endpoint_delay) * 1000);
  device.receive_overhead = device.send_overhead;
  return device;
}

}  // namespace

topology::Cluster build_cluster(const NetworkSettings& network, const SystemSettings* system) {
  constexpr double kLinksMax = 16e6;
  const std::uint32_t npus = network.npus();
  double links = 0;
  for (const Dimension& dim : network.dims) {
    links += npus * (dim.shape == Shape::kFullyConnected ? dim.size - 1.0 : 2.0);
  }
  if (links > kLinksMax) {
    throw InputError{fmt::format("{}: {} links; at most {} are built", network.source, links, kLinksMax)};
  }
  topology::Cluster cluster;
  cluster.name = network.source;
  for (std::uint32_t rank = 0; rank < npus; ++rank) {
    cluster.ranks.push_back(
        cluster.graph.add_node(fmt::format("npu[{}]", rank), topology::NodeKind::kDevice));
  }
  std::uint32_t stride = 1;
  for (std::size_t i = 0; i < network.dims.size(); ++i) {
    const Dimension& dim = network.dims[i];
    std::uint32_t line = 0;
    for (std::uint32_t rank = 0; rank < npus; ++rank) {
      if (rank / stride % dim.size != 0) continue;  // Only the first of a line.
      std::vector<NodeId> members;
      for (std::uint32_t k = 0; k < dim.size; ++k) members.push_back(cluster.ranks[rank + k * stride]);
      connect_line(cluster.graph, dim, members, fmt::format("dim[{}].switch[{}]", i, line++));
    }
    stride *= dim.size;
  }
  cluster.graph.finish();
  cluster.devices.push_back(device_of(system));
  cluster.device_of_rank.assign(npus, 0);
  return cluster;
}

std::string algorithm_name(const SystemSettings& system, Collective collective) {
  const auto index = static_cast<std::size_t>(collective);
  const std::vector<Choice>& choices = system.choices[index];
  if (choices.empty() || !system.custom[index].empty()) return "";
  for (const Choice& choice : choices) {
    if (choice.algorithm != choices[0].algorithm) return "";
  }
  switch (choices[0].algorithm) {
    case Algorithm::kRing:
      return "ring";
    case Algorithm::kDirect:
      return "direct";
    case Algorithm::kHalvingDoubling:
      return "halving_doubling";
    case Algorithm::kDoubleBinaryTree:
      return "double_binary_tree";
  }
  return "";
}

}  // namespace orrery::astra
