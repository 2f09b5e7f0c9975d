// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A cluster as one self-contained SVG picture: dark on white, no scripts, no fonts to load.
#include <string>

#include "orrery/topology/cluster.hpp"

namespace orrery::topology {

/// Readable from one device to many thousand: long runs of alike nodes are shortened to three and a count. The
/// same cluster gives the same bytes.
[[nodiscard]] std::string draw_svg(const Cluster& cluster);

}  // namespace orrery::topology
