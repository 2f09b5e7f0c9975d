// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Any cluster as a native cluster file.
#include <string>

#include "orrery/topology/cluster.hpp"

namespace orrery::app {

/// Explicit: every node, cable, device, rank, event and jitter by itself, numbered as in `cluster`, so that it
/// runs exactly alike. A native file has no nested names written out, so "host[3].gpu[1]" becomes
/// "host_3_gpu[1]". InputError when an event concerns one of several parallel cables, which cannot be said.
[[nodiscard]] std::string write_native(const topology::Cluster& cluster);

}  // namespace orrery::app
