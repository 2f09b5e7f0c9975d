// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What `--compute model` adds to a live run: cost models before it, notes after it.
#include <string>
#include <vector>

#include "orrery/device/cost_model.hpp"
#include "orrery/live/arena.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::app {

/// One for each of the cluster's devices; those that no rank sits on are empty. InputError when one says too little.
[[nodiscard]] std::vector<device::CostModel> device_models(const topology::Cluster& cluster, bool has_tables);

/// Operators that were costed in another way than one might think.
[[nodiscard]] std::vector<std::string> device_notes(const live::Arena& arena, std::uint32_t world);

}  // namespace orrery::app
