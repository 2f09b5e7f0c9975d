// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Groups of ranks as users write them.
#include <string>
#include <string_view>
#include <vector>

#include "orrery/collectives/schedule.hpp"

namespace orrery::app {

/// "0,2,4-7" as ranks of a cluster that has `available` of them, in the order given; a range may count down.
/// InputError names `source`, and a rank that is out of range or stands twice.
[[nodiscard]] std::vector<collectives::Rank> parse_group(std::string_view text, std::size_t available,
                                                         const std::string& source);

/// "0-3,6": the inverse, as short as possible.
[[nodiscard]] std::string group_text(const std::vector<collectives::Rank>& group);

}  // namespace orrery::app
