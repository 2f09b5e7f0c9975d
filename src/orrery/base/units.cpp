// SPDX-License-Identifier: Apache-2.0
#include "orrery/base/units.hpp"

#include <limits>

#include "orrery/base/check.hpp"

namespace orrery {

Duration transfer_time(Bytes size, Bandwidth bandwidth) {
  ORRERY_CHECK(size.count() >= 0, "negative size {}", size.count());
  ORRERY_CHECK(bandwidth.bits_per_second() > 0, "bandwidth must be positive");
  __extension__ using Wide = __int128;
  constexpr Wide kBitPicoseconds = Wide{8} * 1'000'000'000'000;
  const Wide bits = bandwidth.bits_per_second();
  const Wide picoseconds = (size.count() * kBitPicoseconds + bits - 1) / bits;
  const Wide limit = std::numeric_limits<std::int64_t>::max();
  return Duration{static_cast<std::int64_t>(picoseconds < limit ? picoseconds : limit)};
}

Duration ceil_to_duration(double picoseconds) {
  ORRERY_CHECK(picoseconds >= 0, "a duration must not be negative or NaN: {}", picoseconds);
  return ceil_unchecked(picoseconds);
}

}  // namespace orrery
