// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `--device-map cuda=cpu`: what a program that was written for CUDA is told of the devices of the simulated cluster.
#include <string>

#include "orrery/app/live_run.hpp"
#include "orrery/live/protocol.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::app {

/// InputError on anything but "" and "cuda=cpu".
void check_device_map(const LiveOptions& options);

/// For the ranks' Python: which host each of the first `ranks` ranks sits on, how many devices that has, what they are.
/// JSON; "" without a map.
[[nodiscard]] std::string device_map_text(const LiveOptions& options, const topology::Cluster& cluster,
                                          std::size_t ranks);

/// What the rank's program has had in the memory of its device, after it has left.
void read_device_memory(const live::RankPage& page, const topology::DeviceSpec& device, LiveRank& rank);

}  // namespace orrery::app
