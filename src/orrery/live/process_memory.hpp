// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How much memory a process has.
#include <sys/types.h>

#include <cstdint>

namespace orrery::live {

/// At its peak. What several processes have now is counted once among them; what it had more than now is taken to have
/// been its own. 0 when it cannot be told.
[[nodiscard]] std::int64_t peak_memory(pid_t process);

}  // namespace orrery::live
