// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A collective's result as people read it.
#include <string>

#include "orrery/app/collective.hpp"

namespace orrery::cli {

/// An aligned table with a few comment lines around it, as nccl-tests prints.
[[nodiscard]] std::string format_collective(const app::CollectiveResult& result);

}  // namespace orrery::cli
