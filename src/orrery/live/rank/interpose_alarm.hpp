// SPDX-License-Identifier: Apache-2.0
#pragma once
/// alarm() and setitimer(ITIMER_REAL) in virtual time: SIGALRM comes when the virtual clock has moved beyond it, that is,
/// at the next event of the program; waits end there.
#include <cstdint>

namespace orrery::live {

/// When it is due; kForever: none is set.
[[nodiscard]] std::int64_t alarm_due_ps();
[[nodiscard]] bool is_alarm_set();
/// How long it is until then, from what this thread's virtual clock shows.
[[nodiscard]] std::int64_t until_alarm_ps();
/// How many have come, those that the program ignores left out.
[[nodiscard]] std::uint32_t alarms_come();

/// The clock has moved.
void alarm_look();
/// In a forked child, which inherits none.
void alarm_clear();

}  // namespace orrery::live
