// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Times and sizes as people read them, to four figures.
#include <cstdint>
#include <string>

#include "orrery/base/units.hpp"

namespace orrery::cli {

/// "1.234 ms": the largest unit that fits.
[[nodiscard]] std::string duration_text(Duration duration);
/// "1.5 MiB".
[[nodiscard]] std::string bytes_text(std::int64_t bytes);
/// "37 %" of `total`.
[[nodiscard]] std::string share_text(Duration part, std::int64_t total_ps);

}  // namespace orrery::cli
