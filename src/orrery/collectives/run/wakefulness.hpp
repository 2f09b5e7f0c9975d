// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How long each rank has not communicated, and what it costs to wake its threads.
#include <string_view>
#include <vector>

#include "orrery/collectives/schedule.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::collectives {

class Wakefulness {
 public:
  explicit Wakefulness(const topology::Cluster& cluster) : cluster_{cluster} {
    for (const topology::DeviceSpec& device : cluster.devices) {
      if (device.wake_costs != topology::WakeCosts{}) last_.resize(cluster.device_of_rank.size());
    }
  }

  /// Whether any device has such costs.
  [[nodiscard]] bool matters() const { return !last_.empty(); }

  /// A rank calls `operation` of such a buffer now: how much longer that takes than after another one.
  [[nodiscard]] Duration wake(Rank rank, std::string_view operation, Bytes size, Time now) {
    if (last_.empty()) return {};
    const topology::DeviceSpec& device = cluster_.devices[cluster_.device_of_rank[rank]];
    const topology::WakeCurve* curve = topology::find_curve(device.wake_costs, operation);
    const Duration idle = now - last_[rank];
    last_[rank] = now;
    return curve == nullptr ? Duration{} : topology::wake_at(*curve, idle, size);
  }

  /// A call in a group of one rank whose costs are known wakes nobody: what carries messages sleeps on.
  [[nodiscard]] bool sleeps_on(Rank rank, std::string_view operation, std::size_t members) const {
    return last_.empty() ||
           topology::knows_alone(cluster_.devices[cluster_.device_of_rank[rank]], members, operation);
  }

  /// One of the rank's operations ends now.
  void end(Rank rank, Time now) {
    if (!last_.empty()) last_[rank] = now;
  }

 private:
  const topology::Cluster& cluster_;
  std::vector<Time> last_;  // Of each rank's calls and ends.
};

}  // namespace orrery::collectives
