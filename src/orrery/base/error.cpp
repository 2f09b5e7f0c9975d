// SPDX-License-Identifier: Apache-2.0
#include "orrery/base/error.hpp"

#include <algorithm>
#include <numeric>

#include "orrery/base/check.hpp"

namespace orrery {
namespace {

std::string render(const InputProblem& problem) {
  std::string text = problem.source;
  if (problem.position.line > 0) {
    text += fmt::format(":{}:{}", problem.position.line, problem.position.column);
  }
  if (!text.empty()) text += ": ";
  if (!problem.field.empty()) text += problem.field + ": ";
  if (!problem.value.empty()) {
    constexpr std::size_t kShown = 80;
    const bool cut = problem.value.size() > kShown;
    text += fmt::format("'{}{}': ", problem.value.substr(0, kShown), cut ? "..." : "");
  }
  text += problem.expected;
  if (!problem.nearest.empty()) text += fmt::format(" (did you mean '{}'?)", problem.nearest);
  return text;
}

std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t above = row[j];
      row[j] = std::min({above + 1, row[j - 1] + 1, diagonal + (a[i - 1] == b[j - 1] ? 0U : 1U)});
      diagonal = above;
    }
  }
  return row[b.size()];
}

}  // namespace

InputError::InputError(InputProblem problem)
    : std::runtime_error{render(problem)}, problem_{std::move(problem)} {}

std::string nearest_name(std::string_view name, const std::vector<std::string>& candidates) {
  constexpr std::size_t kLongestName = 64;  // Longer input is not a typo of anything; keep the search cheap.
  if (name.size() > kLongestName) return {};
  const std::string* best = nullptr;
  std::size_t best_distance = 1 + std::max<std::size_t>(2, name.size() / 3);
  for (const std::string& candidate : candidates) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best_distance = distance;
      best = &candidate;
    }
  }
  return best == nullptr ? std::string{} : *best;
}

namespace detail {
void throw_bug(const char* condition, const char* file, int line, const std::string& message) {
  throw Bug{fmt::format("{}:{}: check failed: {}: {}", file, line, condition, message)};
}
}  // namespace detail
}  // namespace orrery
