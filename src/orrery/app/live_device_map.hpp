// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `--device-map cuda=cpu`: what a program that was written for CUDA is told of the devices of the simulated cluster.
#include <string>

#include "orrery/app/live_run.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::app {

/// InputError on anything but "" and "cuda=cpu".
void check_device_map(const LiveOptions& options);

/// For the ranks' Python: which host each of the first `ranks` ranks sits on, how many devices that has, what they are.
/// JSON; "" without a map.
[[nodiscard]] std::string device_map_text(const LiveOptions& options, const topology::Cluster& cluster,
                                          std::size_t ranks);

}  // namespace orrery::app
