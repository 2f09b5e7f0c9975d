// SPDX-License-Identifier: Apache-2.0
#pragma once
/// ASTRA-sim's network and system files as a cluster of ours: the same inputs on a network that shares links.
#include <string>

#include "orrery/astra/settings.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::astra {

/// Every link of every dimension, one device per NPU. `system`, when given, adds what devices can do: the endpoint
/// delay becomes an overhead of sending and receiving, reductions run at a third of the memory's bandwidth.
[[nodiscard]] topology::Cluster build_cluster(const NetworkSettings& network,
                                              const SystemSettings* system = nullptr);

/// Our name of the algorithm of a collective; "" when it differs between dimensions, is custom, or is not given.
[[nodiscard]] std::string algorithm_name(const SystemSettings& system, Collective collective);

}  // namespace orrery::astra
