// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/cli/session.hpp"

namespace orrery::cli {

std::int64_t read_integer(const std::string& option, const std::string& text) {
  const std::optional<std::int64_t> value = parse_integer(text);
  if (value) return *value;
  throw InputError{{.source = option,
                    .position = {},
                    .field = {},
                    .value = text,
                    .expected = "expected a whole number",
                    .nearest = {}}};
}

std::uint64_t read_seed(const std::string& text) {
  const std::int64_t seed = read_integer("--seed", text);
  if (seed < 0) throw InputError{fmt::format("--seed: '{}': expected a whole number from 0", text)};
  return static_cast<std::uint64_t>(seed);
}

}  // namespace orrery::cli
