// SPDX-License-Identifier: Apache-2.0
#include "orrery/astra/fields.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/text.hpp"

namespace orrery::astra {

void check_keys(const config::Cursor& at, const std::vector<std::string>& known,
                const std::vector<std::string>& ignored, Warnings& warnings) {
  at.expect_mapping();
  for (const config::Entry& entry : at.node().entries) {
    if (std::ranges::find(known, entry.key) != known.end()) continue;
    const bool is_ignored = std::ranges::find(ignored, entry.key) != ignored.end();
    const std::string nearest = is_ignored ? "" : nearest_name(entry.key, known);
    if (!nearest.empty()) {
      throw InputError{{.source = at.source(),
                        .position = entry.position,
                        .field = {},
                        .value = entry.key,
                        .expected = "unknown key",
                        .nearest = nearest}};
    }
    warnings.push_back(fmt::format("{}:{}: ASTRA-sim ignores the key '{}'; so do we", at.source(),
                                   entry.position.line, entry.key));
  }
}

double read_number(const config::Cursor& at, double min, double max) {
  const std::string expected =
      fmt::format("expected a number from {} to {}", orrery::to_text(min), orrery::to_text(max));
  const std::string& text = at.scalar(expected);
  if (at.node().quoted) at.fail(expected);
  if (text == "true" || text == "false") return text == "true" ? 1 : 0;
  const auto value = parse_number(text);
  if (!value || *value < min || *value > max) at.fail(expected);
  return *value;
}

std::uint64_t read_whole(const config::Cursor& at, double min, double max) {
  return static_cast<std::uint64_t>(read_number(at, min, max));
}

bool read_switch(const config::Cursor& at, Warnings& warnings) {
  const std::string& text = at.scalar("expected 0 or 1");
  if (text == "false" && !at.node().quoted) {
    warnings.push_back(fmt::format("{}:{}: {}: ASTRA-sim takes 'false' for on; so do we (write 0 for off)",
                                   at.source(), at.node().position.line, at.path()));
    return true;
  }
  return read_number(at, -9e15, 9e15) != 0;
}

const std::string& read_text(const config::Cursor& at) {
  const std::string& text = at.scalar("expected text");
  if (text.empty()) at.fail("expected text, got none");
  return text;
}

}  // namespace orrery::astra
