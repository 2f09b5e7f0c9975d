// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Fields that generators share, so that they are spelt and explained alike everywhere.
#include <cstdint>
#include <string>

#include "orrery/config/spec.hpp"
#include "orrery/topology/generators/draft.hpp"

namespace orrery::topology {

/// What sits at the ends of a generated topology.
struct EndpointFields {
  std::string device;
  std::int64_t ranks_per_device = 1;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("device", &EndpointFields::device, "Device kind of every endpoint, by its catalogue name.");
    field("ranks_per_device", &EndpointFields::ranks_per_device, "Ranks that share one device.",
          config::Rule{.min = 1, .max = 4096});
  }
  [[nodiscard]] Draft draft() const {
    Draft made;
    made.ranks_per_device = ranks_per_device;
    made.devices.emplace_back().name = device;
    return made;
  }
};

/// What every cable of a generated topology carries.
struct CableFields {
  Bandwidth bandwidth;
  Duration latency{};
  std::string duplex = "full";
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("bandwidth", &CableFields::bandwidth, "Of each link, per direction.",
          config::Rule{.required = true, .positive = true});
    field("latency", &CableFields::latency, "Of each link.", config::Rule{.required = true});
    field("duplex", &CableFields::duplex, "Whether the two directions of a cable share its bandwidth.",
          config::Rule{.choices = {"full", "half"}});
  }
  void connect(Draft& draft, NodeId a, NodeId b) const {
    draft.graph.connect(a, b, {bandwidth, latency}, duplex == "half");
  }
};

/// The commonest count.
inline constexpr const char* kHostsHelp = "Number of hosts, one device each.";
[[nodiscard]] inline config::Rule hosts_rule(double least) {
  return {.required = true, .min = least, .max = static_cast<double>(kMaxNodes)};
}

}  // namespace orrery::topology
