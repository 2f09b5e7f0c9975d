// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Steps of transformer training and inference as a workload, without a trace: what `orrery trace make` writes and what
/// `orrery replay make:...` runs. Nothing is kept: each rank's operations are made while they are read.
#include <string>

#include "orrery/workload/generate/recipe.hpp"

namespace orrery::workload::generate {

[[nodiscard]] Workload make_workload(const Recipe& recipe);

}  // namespace orrery::workload::generate
