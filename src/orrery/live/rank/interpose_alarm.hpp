// SPDX-License-Identifier: Apache-2.0
#pragma once
/// alarm() and setitimer(ITIMER_REAL) in virtual time. A thread of ours sleeps until then as any other thread beside
/// the rank's does, and sends SIGALRM: so waits of every kind end as they do on Linux, also real ones.
#include <cstdint>

namespace orrery::live {

/// The process is a rank now: what was set before goes on in virtual time.
void alarm_adopt();
/// It is none any more, or a forked child, which inherits no alarm.
void alarm_clear();

/// How many have been sent, those that the program ignores left out.
[[nodiscard]] std::uint32_t alarms_sent();
/// Whether one was sent after there were `before`, and its handler has run on this thread: the program's first.
[[nodiscard]] bool is_interrupted(std::uint32_t before);

}  // namespace orrery::live
