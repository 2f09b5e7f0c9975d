// SPDX-License-Identifier: Apache-2.0
// Rail-optimised fabric: GPU g of every host reaches the leaf of rail g through its own NIC, so equal-numbered
// GPUs are one leaf apart (NVIDIA DGX SuperPOD reference architectures). GPUs of a host meet at its NVSwitch.
//
// A leaf has u = leaf_radix / (1 + oversubscription) ports up and d = leaf_radix - u down. Hosts come in
// blocks of d; a block has one leaf per rail. Every leaf is cabled to every spine, u / spines times.
// Bytes to another rail may cross the host's NVSwitch first and leave by the peer's NIC (NCCL's PXN) when that
// is the shorter way; with spines=0 it is the only one.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "orrery/topology/generators/fields.hpp"
#include "orrery/topology/generators/generator.hpp"

namespace orrery::topology {
namespace {

struct RailSpec : EndpointFields {
  std::int64_t hosts = 0;
  std::int64_t gpus_per_host = 8;
  // An HGX H100 host on NDR InfiniBand; catalog/clusters/hgx-h100x4.yaml cites the sources.
  Bandwidth nvlink_bandwidth = Bandwidth::bytes_per_second(450'000'000'000);
  Duration nvlink_latency{150'000};
  std::optional<Bandwidth> bandwidth;
  std::optional<Duration> latency;
  Bandwidth nic_bandwidth = Bandwidth::bits_per_second(400'000'000'000);
  Duration nic_latency{500'000};
  std::optional<Bandwidth> pcie_bandwidth;
  Duration pcie_latency{};
  std::optional<Duration> spine_latency;
  std::int64_t leaf_radix = 64;
  double oversubscription = 1;
  std::optional<std::int64_t> spines;
  template <class Visitor>
  static void fields(Visitor&& field) {
    using config::Rule;
    field("hosts", &RailSpec::hosts, "Number of hosts.", hosts_rule(1));
    field("gpus_per_host", &RailSpec::gpus_per_host, "GPUs, NICs and rails of a host.",
          Rule{.min = 1, .max = 1024});
    field("nvlink_bandwidth", &RailSpec::nvlink_bandwidth, "GPU to NVSwitch, per direction.",
          Rule{.positive = true});
    field("nvlink_latency", &RailSpec::nvlink_latency, "GPU to NVSwitch.");
    field("nic_bandwidth", &RailSpec::nic_bandwidth, "NIC to leaf and leaf to spine, per direction.",
          Rule{.positive = true});
    field("nic_latency", &RailSpec::nic_latency, "NIC to leaf.");
    field("bandwidth", &RailSpec::bandwidth, "Short for nic_bandwidth.", Rule{.positive = true});
    field("latency", &RailSpec::latency, "Short for nic_latency.");
    field("pcie_bandwidth", &RailSpec::pcie_bandwidth, "GPU to its NIC; absent = that of the NIC.",
          Rule{.positive = true});
    field("pcie_latency", &RailSpec::pcie_latency, "GPU to its NIC.");
    field("spine_latency", &RailSpec::spine_latency, "Leaf to spine; absent = nic_latency.");
    field("leaf_radix", &RailSpec::leaf_radix, "Ports of a leaf switch.", Rule{.min = 2, .max = 4096});
    field("oversubscription", &RailSpec::oversubscription, "Ports down to ports up of a leaf.",
          Rule{.min = 0.01, .max = 4096});
    field("spines", &RailSpec::spines,
          "Spine switches; absent = one per port up of a leaf; 0 = rails never meet.",
          Rule{.min = 0, .max = 4096});
    EndpointFields::fields(field);
  }
};

struct Shape {
  std::int64_t up = 0;
  std::int64_t down = 0;
  std::int64_t blocks = 0;
  std::int64_t leaves = 0;
  std::int64_t spines = 0;
};

Shape shape_of(const RailSpec& spec, const config::Cursor& at) {
  const double up = static_cast<double>(spec.leaf_radix) / (1 + spec.oversubscription);
  Shape shape;
  shape.up = std::llround(up);
  if (shape.up < 1 || shape.up >= spec.leaf_radix || std::abs(up - static_cast<double>(shape.up)) > 1e-9) {
    at.fail(
        fmt::format("leaf_radix={} with oversubscription {} gives {:.2f} ports up; it must be a whole number "
                    "from 1 to {}",
                    spec.leaf_radix, spec.oversubscription, up, spec.leaf_radix - 1));
  }
  shape.down = spec.leaf_radix - shape.up;
  shape.blocks = div_ceil(spec.hosts, shape.down);
  shape.leaves = shape.blocks * spec.gpus_per_host;
  shape.spines = shape.leaves == 1 ? 0 : spec.spines.value_or(shape.up);
  if (shape.spines > 0 && shape.up % shape.spines != 0) {
    at.at("spines").fail(fmt::format("expected a divisor of {}, the ports up of a leaf", shape.up));
  }
  if (shape.spines == 0 && shape.blocks > 1) {
    at.at("spines").fail(fmt::format("{} hosts fill {} blocks of {}, which only spines can join", spec.hosts,
                                     shape.blocks, shape.down));
  }
  return shape;
}

/// One host: its GPUs, their NVSwitch, and a NIC per GPU cabled to the leaf of its rail.
void add_host(const RailSpec& spec, std::int64_t index, const NodeId* rail_leaves, Draft& draft) {
  const std::string host = indexed("host", index);
  const std::size_t first = draft.endpoints.size();
  for (std::int64_t gpu = 0; gpu < spec.gpus_per_host; ++gpu) {
    draft.add_endpoint(fmt::format("{}.gpu[{}]", host, gpu), host);
  }
  const bool has_nvswitch = spec.gpus_per_host > 1;
  const NodeId nvswitch = has_nvswitch ? draft.add(host + ".nvswitch[0]", NodeKind::kSwitch, host) : NodeId{};
  for (std::int64_t gpu = 0; gpu < spec.gpus_per_host; ++gpu) {
    const NodeId device = draft.endpoints[first + static_cast<std::size_t>(gpu)];
    if (has_nvswitch) draft.graph.connect(device, nvswitch, {spec.nvlink_bandwidth, spec.nvlink_latency});
    const NodeId nic = draft.add(fmt::format("{}.nic[{}]", host, gpu), NodeKind::kNic, host);
    draft.graph.connect(device, nic, {spec.pcie_bandwidth.value_or(spec.nic_bandwidth), spec.pcie_latency});
    draft.graph.connect(nic, rail_leaves[gpu], {spec.nic_bandwidth, spec.nic_latency});
  }
}

Draft build(const RailSpec& given, const config::Cursor& at) {
  RailSpec spec = given;
  spec.nic_bandwidth = given.bandwidth.value_or(given.nic_bandwidth);
  spec.nic_latency = given.latency.value_or(given.nic_latency);
  if (given.bandwidth && at.has("nic_bandwidth")) {
    at.at("bandwidth").fail("nic_bandwidth is given too; they are the same");
  }
  if (given.latency && at.has("nic_latency")) {
    at.at("latency").fail("nic_latency is given too; they are the same");
  }
  const Shape shape = shape_of(spec, at);
  const auto gpus = static_cast<double>(spec.hosts) * static_cast<double>(spec.gpus_per_host);
  expect_size(
      at, 2 * gpus + static_cast<double>(spec.hosts + shape.leaves + shape.spines),
      3 * gpus + static_cast<double>(shape.leaves) * static_cast<double>(shape.spines > 0 ? shape.up : 0));

  Draft draft = spec.draft();
  std::vector<NodeId> leaves;  // Block after block, within a block rail after rail.
  for (std::int64_t leaf = 0; leaf < shape.leaves; ++leaf) {
    leaves.push_back(
        draft.add(indexed("leaf", leaf), NodeKind::kSwitch, indexed("block", leaf / spec.gpus_per_host)));
  }
  std::vector<NodeId> spines;
  for (std::int64_t spine = 0; spine < shape.spines; ++spine) {
    spines.push_back(draft.add(indexed("spine", spine), NodeKind::kSwitch));
  }
  for (std::int64_t host = 0; host < spec.hosts; ++host) {
    add_host(spec, host, &leaves[static_cast<std::size_t>(host / shape.down * spec.gpus_per_host)], draft);
  }
  const LinkSpec trunk{spec.nic_bandwidth, spec.spine_latency.value_or(spec.nic_latency)};
  for (const NodeId leaf : leaves) {
    for (const NodeId spine : spines) {
      for (std::int64_t cable = 0; cable < shape.up / shape.spines; ++cable) {
        draft.graph.connect(leaf, spine, trunk);
      }
    }
  }
  if (shape.spines > 0 && shape.leaves * (shape.up / shape.spines) > spec.leaf_radix) {
    draft.warnings.push_back(
        fmt::format("each spine has {} ports, more than a leaf's {}: a real fabric of this size "
                    "has a third layer",
                    shape.leaves * (shape.up / shape.spines), spec.leaf_radix));
  }
  return draft;
}

}  // namespace

Generator rail_optimized_generator() {
  return describe_generator<RailSpec>("rail_optimized",
                                      "GPU hosts with one NIC per GPU and one leaf per rail.", build);
}

}  // namespace orrery::topology
