// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What `orrery trace` prints.
#include <string>

#include "orrery/app/trace_check.hpp"
#include "orrery/app/trace_info.hpp"

namespace orrery::cli {

[[nodiscard]] std::string info_text(const app::TraceInfo& info);
[[nodiscard]] std::string check_text(const app::TraceCheck& check);

}  // namespace orrery::cli
