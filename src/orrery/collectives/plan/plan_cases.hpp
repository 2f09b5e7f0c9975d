// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The requests on which every registered algorithm is tested. An algorithm is asked for all of them and tested
/// on those that it does not refuse, so a new one needs no line here.
#include <string>
#include <vector>

#include "orrery/collectives/algorithm.hpp"

namespace orrery::collectives::plan {

/// All requests of `ranks` ranks: every operation, several roots, pieces, windows, dims and trees.
[[nodiscard]] std::vector<PlanRequest> plan_cases(Rank ranks);
/// Fewer of them, for large groups.
[[nodiscard]] std::vector<PlanRequest> few_plan_cases(Rank ranks);

[[nodiscard]] std::string to_text(const PlanRequest& request);

/// Names of the built-in algorithms, for parameterised tests.
[[nodiscard]] std::vector<std::string> algorithm_names();

}  // namespace orrery::collectives::plan
