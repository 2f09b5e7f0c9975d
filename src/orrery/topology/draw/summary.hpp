// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A cluster in a few lines of text, for `orrery cluster show`.
#include <string>

#include "orrery/topology/cluster.hpp"

namespace orrery::topology {

/// Nodes by kind, devices, kinds of links, distance between ranks, events and warnings. Ends with a newline.
[[nodiscard]] std::string summarize(const Cluster& cluster);

}  // namespace orrery::topology
