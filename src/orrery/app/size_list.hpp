// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Lists of message sizes as users write them.
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/units.hpp"

namespace orrery::app {

inline constexpr std::size_t kMaxSizes = 1000;

/// Sizes separated by commas; each is one size ("3MB") or a range: "1KiB..1GiB" doubles from the first, the
/// last one included if it is hit exactly; "1KiB..1GiB:x4" multiplies by four, "0B..1MB:+100kB" adds. InputError
/// names `source`.
[[nodiscard]] std::vector<Bytes> parse_sizes(std::string_view text, const std::string& source);

}  // namespace orrery::app
