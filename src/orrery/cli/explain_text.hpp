// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What `orrery explain` shows.
#include <string>

#include "orrery/app/explain.hpp"

namespace orrery::cli {

[[nodiscard]] std::string format_explain(const app::ExplainResult& result);

}  // namespace orrery::cli
