// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Runs a schedule on sets instead of numbers: each (participant, chunk) holds the set of ranks whose data is in
/// it. Lanes advance in a random but seeded order, so a schedule that is right by luck of timing is found out.
#include <string>

#include "orrery/collectives/algorithm.hpp"

namespace orrery::collectives::plan {

/// What is wrong with `schedule` as a plan of `request`, or "" if nothing is: somebody waits forever, a message is
/// left unread or is not the one expected, data is sent that the sender does not have, a contribution is counted
/// twice, or somebody ends up with the wrong data.
[[nodiscard]] std::string symbolic_problem(const Schedule& schedule, const PlanRequest& request,
                                           std::uint64_t seed);

}  // namespace orrery::collectives::plan
