// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Imports MSCCL XML programs (microsoft/msccl-tools). docs/models/collectives.md says what becomes of them.
#include <memory>
#include <string>

#include "orrery/collectives/schedule.hpp"

namespace orrery::collectives::plan {

/// The program of the file as a schedule of `operation` on `ranks` ranks. It is first run on sets of contributions,
/// in several orders, with its own buffers: InputError names file, position, GPU, thread block and step when data
/// is missing, added twice or ends up in the wrong place, or when somebody waits forever.
[[nodiscard]] std::unique_ptr<Schedule> read_msccl(const std::string& path, Operation operation, Rank ranks);

}  // namespace orrery::collectives::plan
