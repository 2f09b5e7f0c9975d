// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/cluster_digest.hpp"

#include <fmt/format.h>

#include <bit>

#include "orrery/base/digest.hpp"

namespace orrery::app {
namespace {

class Hasher {
 public:
  void number(std::int64_t value) { digest_.add(static_cast<std::uint64_t>(value)); }
  void real(double value) { digest_.add(std::bit_cast<std::uint64_t>(value)); }
  void text(std::string_view value) { digest_.add(value); }

  void graph(const topology::Graph& graph) {
    for (std::size_t i = 0; i < graph.node_count(); ++i) {
      const topology::NodeId node{i};
      text(graph.name(node));
      number(static_cast<std::int64_t>(graph.kind(node)));
    }
    for (const topology::Graph::Edge& edge : graph.edges()) {
      number(edge.a.value());
      number(edge.b.value());
      for (const topology::LinkId link : {edge.forward, edge.backward}) {
        number(link.value());
        number(graph.link(link).bandwidth.bits_per_second());
        number(count_ps(graph.link(link).latency));
        if (graph.link(link).burst != Bytes{}) text(fmt::format("burst {}", graph.link(link).burst.count()));
      }
    }
  }
  void device(const topology::DeviceSpec& device) {
    real(device.peak.per_second);
    number(device.memory_bandwidth.bits_per_second());
    number(device.memory.count());
    real(device.compute_scale);
    number(count_ps(device.send_overhead));
    number(count_ps(device.receive_overhead));
    number(device.reduce_bandwidth.bits_per_second());
    if (device.operation_overhead != Duration{} ||
        device.copy_bandwidth != Bandwidth{}) {  // As before there were any.
      number(count_ps(device.operation_overhead));
      number(device.copy_bandwidth.bits_per_second());
    }
    if (device.operation_costs != topology::OperationCosts{}) {
      text(config::write_spec(device.operation_costs));
    }
    if (device.wake_costs != topology::WakeCosts{}) text(config::write_spec(device.wake_costs));
    if (device.alone_costs != topology::OperationCosts{}) {
      text("alone");
      text(config::write_spec(device.alone_costs));
    }
    if (device.overlap_costs != topology::OperationCosts{}) {
      text("overlap");
      text(config::write_spec(device.overlap_costs));
    }
    if (device.notice_costs != topology::OperationCosts{}) {
      text("notice");
      text(config::write_spec(device.notice_costs));
    }
    if (device.send_buffer != Bytes{}) text(fmt::format("buffer {}", device.send_buffer.count()));
    if (device.remote_bandwidth != Bandwidth{}) {  // As before there was remote memory.
      number(device.remote_bandwidth.bits_per_second());
      number(count_ps(device.remote_latency));
    }
    operators(device);
  }
  /// What only `--compute model` looks at; as before where nothing is said.
  void operators(const topology::DeviceSpec& device) {
    const topology::DeviceSpec none;
    const auto add = [&](const auto& spec, const auto& unsaid) {
      if (!(spec == unsaid)) text(config::write_spec(spec));
    };
    add(device.peaks, none.peaks);
    add(device.compute_efficiency, none.compute_efficiency);
    add(device.memory_efficiency, none.memory_efficiency);
    const std::string rest =
        fmt::format("{} {} {} {} {} {}", device.cache.count(), device.cache_bandwidth.bits_per_second(),
                    count_ps(device.launch_overhead), count_ps(device.host_overhead), device.is_asynchronous,
                    device.fuses_elementwise);
    if (rest != "0 0 0 0 false false") text(rest);
  }
  void event(const topology::LinkEvent& event) {
    number(count_ps(event.at));
    number(event.link.value());
    number(event.bandwidth ? event.bandwidth->bits_per_second() : -1);
    number(event.latency ? count_ps(*event.latency) : -1);
    number(event.up ? (*event.up ? 1 : 0) : -1);
  }
  [[nodiscard]] std::uint64_t value() const { return digest_.value(); }

 private:
  Digest digest_;
};

}  // namespace

std::uint64_t cluster_digest(const topology::Cluster& cluster) {
  Hasher hasher;
  hasher.graph(cluster.graph);
  for (const topology::NodeId node : cluster.ranks) hasher.number(node.value());
  for (const topology::DeviceSpec& device : cluster.devices) hasher.device(device);
  for (const std::uint32_t device : cluster.device_of_rank) hasher.number(device);
  for (const std::string& group : cluster.node_group) hasher.text(group);
  for (const topology::LinkEvent& event : cluster.events) hasher.event(event);
  for (const topology::LinkJitter& jitter : cluster.jitter) {
    hasher.number(jitter.link.value());
    hasher.number(count_ps(jitter.amplitude));
  }
  hasher.text(cluster.nccl_platform);
  hasher.text(cluster.switches_reduce ? "switches reduce" : "");
  return hasher.value();
}

}  // namespace orrery::app
