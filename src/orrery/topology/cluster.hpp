// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A cluster: the graph, where ranks sit, what the devices are, and what happens to links over time.
/// Every reader and generator ends here; nothing above this module knows where a cluster came from.
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/units.hpp"
#include "orrery/topology/device_rates.hpp"
#include "orrery/topology/graph.hpp"
#include "orrery/topology/operation_costs.hpp"

namespace orrery::topology {

/// What a rank's device can do, as far as the description says. Zero means "not said".
struct DeviceSpec {
  std::string name;  ///< Catalogue name, e.g. "h100_sxm".
  Flops peak;        ///< Dense 16-bit.
  Bandwidth memory_bandwidth;
  Bytes memory;
  double compute_scale = 1.0;     ///< Host time times this gives device time.
  Duration send_overhead{};       ///< CPU time per message sent (LogGP o_s).
  Duration receive_overhead{};    ///< CPU time per message received (LogGP o_r).
  Bandwidth reduce_bandwidth;     ///< Bytes reduced per second; 0 = free.
  Duration operation_overhead{};  ///< Of a collective's call: handing it to a thread, being woken at its end.
  Bandwidth copy_bandwidth;       ///< Of buffers that gloo gathers through and copies out of; 0 = free.
  OperationCosts operation_costs;  ///< What gloo's calls cost this host beside the network.
  WakeCosts wake_costs;            ///< And how much more after a pause.
  OperationCosts alone_costs;      ///< Of a call in a group of one rank, where nothing else counts; none = as any call.
  OperationCosts overlap_costs;    ///< What a call under way takes from a rank that computes meanwhile.
  OperationCosts notice_costs;     ///< Who comes later than this to an exchange of gloo sends first; none = a message.
  Bytes send_buffer;               ///< Of a connection: whoever calls gloo has done with what it takes.
  Bandwidth remote_bandwidth;      ///< Of memory outside the device that a trace loads from and stores to.
  Duration remote_latency{};       ///< Of one such load or store.

  PeakSpec peaks;  ///< By element type; `peak` where not said.
  EfficiencySpec compute_efficiency;
  EfficiencySpec memory_efficiency;
  Bytes cache;  ///< Operators that touch no more than this run at
  Bandwidth cache_bandwidth;
  Duration launch_overhead{};      ///< Of every kernel, on the device.
  Duration host_overhead{};        ///< Of every operator, on the host.
  bool is_asynchronous = false;    ///< The host only launches, as with GPUs.
  bool fuses_elementwise = false;  ///< Consecutive elementwise operators run as one kernel.
  std::string operators;           ///< File of profiled operators, or "".
};

/// Whether a call in a group of so many ranks is one that only `alone_costs` tell of.
[[nodiscard]] inline bool knows_alone(const DeviceSpec& device, std::size_t members, std::string_view operation) {
  if (members != 1) return false;
  const CostCurve* const curve = find_curve(device.alone_costs, operation);
  return curve != nullptr && !curve->empty();
}

/// One change of a link. `bandwidth` or `latency` absent = unchanged; `up` false = no bytes pass.
struct LinkEvent {
  Time at;
  LinkId link;
  std::optional<Bandwidth> bandwidth;
  std::optional<Duration> latency;
  std::optional<bool> up;
};

/// Seeded variation of a link's latency: each message on it is delayed by a further draw in [0, amplitude].
struct LinkJitter {
  LinkId link;
  Duration amplitude{};
};

struct Cluster {
  std::string name;
  Graph graph;                                ///< Finished.
  std::vector<NodeId> ranks;                  ///< Node of each rank; several ranks may share a node.
  std::vector<DeviceSpec> devices;            ///< Kinds of device.
  std::vector<std::uint32_t> device_of_rank;  ///< Index into `devices`; same length as `ranks`.
  std::vector<std::string> node_group;  ///< Optional: host of each node, after its rack: "rack[0]/host[3]".
                                        ///< "" = none; an empty vector = no groups.
  std::vector<LinkEvent> events;        ///< Sorted by time, then link.
  std::vector<LinkJitter> jitter;
  std::vector<std::string> warnings;  ///< What the reader wants the user to know.
  std::string nccl_platform;          ///< Key into the catalogue's NCCL data, or "".
  bool switches_reduce = false;       ///< Its switches add up and multicast data (SHARP and the like).
};

}  // namespace orrery::topology
