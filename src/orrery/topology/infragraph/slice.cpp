// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/infragraph/slice.hpp"

#include <algorithm>
#include <vector>

#include "orrery/base/check.hpp"
#include "orrery/base/text.hpp"
#include "orrery/base/units.hpp"

namespace orrery::topology::infragraph {
namespace {

constexpr std::int64_t kLargest = 1'000'000'000'000;  // Sums of two stay far from overflow.

/// A bound of a range: from the end when negative, then clipped to [low, high].
std::int64_t clipped(std::int64_t bound, std::int64_t count, std::int64_t low, std::int64_t high) {
  return std::clamp(bound < 0 ? bound + count : bound, low, high);
}

}  // namespace

Token parse_token(std::string_view text) {
  const std::size_t open = text.find('[');
  Token token{.name = text.substr(0, open),
              .slice = {},
              .has_slice = open != std::string_view::npos,
              .is_well_formed = true};
  if (token.has_slice) {
    const std::string_view rest = text.substr(open + 1);
    const std::size_t close = rest.find_first_of("[]");
    token.slice = rest.substr(0, close);
    token.is_well_formed = close != std::string_view::npos && rest[close] == ']' && close + 1 == rest.size();
  }
  return token;
}

Slice resolve_slice(std::string_view text, std::int64_t count) {
  const std::vector<std::string_view> parts = split(text, ':');
  if (parts.size() > 3) {
    return {.indices = {}, .problem = "a slice has at most three parts", .out_of_range = false};
  }
  std::optional<std::int64_t> numbers[3];
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string_view part = trim(parts[i]);
    if (part.empty()) continue;
    numbers[i] = parse_integer(part);
    if (!numbers[i] || std::abs(*numbers[i]) > kLargest) {
      return {.indices = {},
              .problem = fmt::format("'{}' is not an index", part.substr(0, 40)),
              .out_of_range = false};
    }
  }
  if (parts.size() == 1) {
    if (!numbers[0]) return {.indices = {0, 1, count}, .problem = {}, .out_of_range = false};
    const std::int64_t index = *numbers[0] < 0 ? *numbers[0] + count : *numbers[0];
    return {.indices = {index, 1, 1}, .problem = {}, .out_of_range = index < 0 || index >= count};
  }
  const std::int64_t step = numbers[2].value_or(1);
  if (step == 0) return {.indices = {}, .problem = "the step must not be 0", .out_of_range = false};
  const bool down = step < 0;
  const std::int64_t low = down ? -1 : 0;
  const std::int64_t high = down ? count - 1 : count;
  const std::int64_t first = numbers[0] ? clipped(*numbers[0], count, low, high) : (down ? high : low);
  const std::int64_t stop = numbers[1] ? clipped(*numbers[1], count, low, high) : (down ? low : high);
  const std::int64_t size =
      std::max<std::int64_t>(0, down ? div_ceil(first - stop, -step) : div_ceil(stop - first, step));
  const auto beyond = [&](const std::optional<std::int64_t>& bound) {
    return bound && (*bound > count || *bound < -count);
  };
  return {.indices = {first, step, size},
          .problem = {},
          .out_of_range = beyond(numbers[0]) || beyond(numbers[1])};
}

}  // namespace orrery::topology::infragraph
