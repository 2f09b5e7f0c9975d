// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Hosts with several devices behind a local switch, for generators whose fabric ends at the host.
#include "orrery/topology/generators/fields.hpp"

namespace orrery::topology {

/// One host's devices. With one device the host is the device, and nothing else is made.
struct HostFields : EndpointFields {
  std::int64_t gpus_per_host = 1;
  std::optional<Bandwidth> local_bandwidth;
  std::optional<Duration> local_latency;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("gpus_per_host", &HostFields::gpus_per_host, "Devices of one host, joined by a switch inside it.",
          config::Rule{.min = 1, .max = 1024});
    field("local_bandwidth", &HostFields::local_bandwidth,
          "Device to the host's switch; with gpus_per_host > 1.", config::Rule{.positive = true});
    field("local_latency", &HostFields::local_latency,
          "Device to the host's switch; with gpus_per_host > 1.");
    EndpointFields::fields(field);
  }
  /// Errors unless the local values are given exactly when they are needed.
  void check(const config::Cursor& at) const;
  /// Nodes that one host takes.
  [[nodiscard]] std::int64_t nodes() const { return gpus_per_host == 1 ? 1 : gpus_per_host + 1; }
  /// Adds host `index`; the result is the node that the fabric is cabled to: the device itself, or the
  /// host's switch, whose cable to the fabric its devices then share.
  /// `within` is the pod or rack the host stands in, "" = none.
  [[nodiscard]] NodeId add_host(Draft& draft, std::int64_t index, const std::string& within) const;
};

}  // namespace orrery::topology
