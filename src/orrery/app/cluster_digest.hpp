// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A hash of everything in a cluster that can change a result, for manifests.
#include <cstdint>

#include "orrery/topology/cluster.hpp"

namespace orrery::app {

/// Equal for the same graph, ranks, devices, events and jitter, however they were described.
[[nodiscard]] std::uint64_t cluster_digest(const topology::Cluster& cluster);

}  // namespace orrery::app
