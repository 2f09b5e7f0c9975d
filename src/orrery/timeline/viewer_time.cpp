// SPDX-License-Identifier: Apache-2.0
#include "orrery/timeline/viewer_time.hpp"

#include <fmt/format.h>

#include <cmath>

#include "orrery/base/check.hpp"

namespace orrery::timeline {
namespace {
constexpr std::int64_t kPerMicrosecond = 1'000'000;
}  // namespace

void append_microseconds(std::string& text, Duration time) {
  ORRERY_DCHECK(time >= Duration::zero(), "{} ps", count_ps(time));
  const fmt::format_int whole{count_ps(time) / kPerMicrosecond};
  text.append(whole.data(), whole.size());
  const std::int64_t fraction = count_ps(time) % kPerMicrosecond;
  if (fraction == 0) return;
  // The leading one keeps the zeros behind the point; the point then takes its place.
  const fmt::format_int digits{kPerMicrosecond + fraction};
  const std::size_t point = text.size();
  text.append(digits.data(), digits.size());
  text[point] = '.';
  text.erase(text.find_last_not_of('0') + 1);
}

std::int64_t viewer_nanoseconds(Duration time) {
  // The viewer's own arithmetic, step by step: whole part plus fraction, times 1000, to the nearest.
  const std::int64_t microseconds = count_ps(time) / kPerMicrosecond;
  const auto whole = static_cast<double>(microseconds);
  const double fraction = static_cast<double>(count_ps(time) % kPerMicrosecond) / kPerMicrosecond;
  return std::llround((whole + fraction) * 1000.0);
}

}  // namespace orrery::timeline
