// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How much memory a process has.
#include <sys/types.h>

#include <cstdint>

namespace orrery::live {

/// Its proportional share: what several processes have is counted once among them. 0 when it cannot be told.
[[nodiscard]] std::int64_t proportional_memory(pid_t process);

}  // namespace orrery::live
