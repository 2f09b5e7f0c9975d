// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Refuses an output before the work for it is done.
#include <string>

namespace orrery::app {

/// InputError with the system's reason unless a file could be put at `path`. Leaves nothing behind.
void check_output(const std::string& path);

}  // namespace orrery::app
