// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Values of ASTRA-sim's files, as its JSON library takes them: a number where a whole number is wanted is cut off.
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/astra/settings.hpp"
#include "orrery/config/document.hpp"

namespace orrery::astra {

/// A misspelt key is an error; one that resembles none of the known is ignored, as ASTRA-sim does, with a warning.
void check_keys(const config::Cursor& at, const std::vector<std::string>& known,
                const std::vector<std::string>& ignored, Warnings& warnings);
[[nodiscard]] double read_number(const config::Cursor& at, double min, double max);
[[nodiscard]] std::uint64_t read_whole(const config::Cursor& at, double min, double max);
/// ASTRA-sim compares with the number 0, so that `false` counts as on.
[[nodiscard]] bool read_switch(const config::Cursor& at, Warnings& warnings);
[[nodiscard]] const std::string& read_text(const config::Cursor& at);

}  // namespace orrery::astra
