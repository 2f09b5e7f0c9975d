// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/key_statistics.hpp"

#include <algorithm>

namespace orrery::live {

void LowEnd::add(std::int64_t value) {
  const std::size_t kept = std::min<std::size_t>(count_, kKept);
  ++count_;
  if (kept == kKept) {
    if (value >= smallest_[kKept - 1]) return;
    smallest_[kKept - 1] = value;
  } else {
    smallest_[kept] = value;
  }
  for (std::size_t i = std::min(kept, kKept - 1); i > 0 && smallest_[i] < smallest_[i - 1]; --i) {
    std::swap(smallest_[i], smallest_[i - 1]);
  }
}

std::int64_t LowEnd::value() const { return smallest_[std::min<std::size_t>(count_ / kPerRank, kKept - 1)]; }

void RecentMedian::add(std::int64_t value) {
  recent_[count_ % kKept] = value;
  ++count_;
  // A full window moves slowly; sorting it each time would cost more than what is measured.
  if (count_ > kKept && count_ % 8 != 0) return;
  std::array<std::int64_t, kKept> sorted = recent_;
  const auto size = static_cast<std::ptrdiff_t>(std::min<std::size_t>(count_, kKept));
  std::nth_element(sorted.begin(), sorted.begin() + size / 2, sorted.begin() + size);
  median_ = sorted[static_cast<std::size_t>(size / 2)];
}

}  // namespace orrery::live
