// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The text of a deadlock: who waits on whom, and the cycle when there is one.
#include <string>
#include <vector>

#include "orrery/engine/engine.hpp"

namespace orrery::engine {

[[nodiscard]] std::string describe_deadlock(Time now, const std::vector<Blocked>& blocked);

}  // namespace orrery::engine
