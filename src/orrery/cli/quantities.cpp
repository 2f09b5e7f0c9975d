// SPDX-License-Identifier: Apache-2.0
#include "orrery/cli/quantities.hpp"

#include <fmt/format.h>

#include <iterator>

namespace orrery::cli {

std::string duration_text(Duration duration) {
  const auto ps = static_cast<double>(count_ps(duration));
  constexpr struct {
    double ps;
    const char* unit;
  } kUnits[]{{1e12, "s"}, {1e9, "ms"}, {1e6, "us"}, {1e3, "ns"}};
  for (const auto& [size, unit] : kUnits) {
    if (ps >= size) return fmt::format("{:.4g} {}", ps / size, unit);
  }
  return fmt::format("{:.0f} ps", ps);
}

std::string bytes_text(std::int64_t bytes) {
  constexpr const char* kUnits[]{"B", "KiB", "MiB", "GiB", "TiB"};
  auto value = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; value >= 1024 && unit + 1 < std::size(kUnits); ++unit) value /= 1024;
  return unit == 0 ? fmt::format("{} B", bytes) : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string share_text(Duration part, std::int64_t total_ps) {
  return total_ps == 0 ? std::string{"0 %"}
                       : fmt::format("{:.0f} %", 100.0 * static_cast<double>(count_ps(part)) /
                                                     static_cast<double>(total_ps));
}

}  // namespace orrery::cli
