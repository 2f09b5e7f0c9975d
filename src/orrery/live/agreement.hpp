// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Whether the members of a group call the same collective with the same arguments.
#include <vector>

#include "orrery/live/arena.hpp"
#include "orrery/live/group.hpp"

namespace orrery::live {

/// SimulationError that shows every call so far when `op` of `member` does not fit the others'. `operations` are
/// the offsets of members' operations, 0 = not there yet.
void check_agreement(const Arena& arena, const Group& group, const std::vector<std::int64_t>& operations,
                     std::uint32_t member, const orrery_op& op);

}  // namespace orrery::live
