// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Simulated time as trace viewers read it. The trace format counts microseconds as decimal numbers; we write
/// every picosecond digit. The Perfetto UI reads such a number as a double and rounds it to a nanosecond, the
/// begin and the duration of a span separately, and drops a span that then no longer nests. So a writer has to
/// know what the viewer will make of a number.
#include <cstdint>
#include <string>

#include "orrery/base/units.hpp"

namespace orrery::timeline {

/// Appends `time` in microseconds, exactly, without trailing zeros: "1.234567", "20".
void append_microseconds(std::string& text, Duration time);
inline void append_microseconds(std::string& text, Time time) {
  append_microseconds(text, time.time_since_epoch());
}

/// The nanosecond at which the Perfetto UI shows append_microseconds(time). Never decreases with `time`.
[[nodiscard]] std::int64_t viewer_nanoseconds(Duration time);
[[nodiscard]] inline std::int64_t viewer_nanoseconds(Time time) {
  return viewer_nanoseconds(time.time_since_epoch());
}

}  // namespace orrery::timeline
