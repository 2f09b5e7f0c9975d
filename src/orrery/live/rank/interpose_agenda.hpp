// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sleeps and timed waits of the threads beside the rank's: when, in virtual time, each of them ends. The rank's
/// thread stops there when it moves the clock, and lets them run before it goes on.
#include <atomic>
#include <cstdint>

namespace orrery::live {

inline constexpr std::int64_t kForever = INT64_MAX;
/// How often a thread beside the rank's looks up from a wait, in real time.
inline constexpr std::int64_t kLookNs = 50'000'000;

class AgendaEntry {
 public:
  explicit AgendaEntry(std::int64_t deadline_ps);
  ~AgendaEntry() { remove(); }
  AgendaEntry(const AgendaEntry&) = delete;
  AgendaEntry& operator=(const AgendaEntry&) = delete;

  /// Whether the published clock has reached the deadline.
  [[nodiscard]] bool is_due() const;
  /// Sleeps until it is, or for `real_ns`; may return early.
  void wait(std::int64_t real_ns);
  void remove();

 private:
  std::int64_t deadline_ps_;
  struct AgendaSlot* slot_;  ///< Null when all are taken: then nobody stops for us.
};

/// The earliest deadline that is not due yet, or kForever.
[[nodiscard]] std::int64_t agenda_earliest();
/// Whether a thread whose time has come has not gone on yet.
[[nodiscard]] bool agenda_has_due();
/// The clock has moved.
void agenda_wake();
/// All who wait look whether they still should.
void agenda_nudge();
/// In a forked child, which has none of those threads.
void agenda_clear();

/// Makes this thread the rank's if the one that is has been asleep for a while, outside of all that we see (reading
/// a pipe, joining a thread), or is gone: else a thread that polls the clock would wait for ever. Virtual time then
/// goes at the pace of real time, unless it is gone or waits for a lock.
bool take_over_if_stuck();

}  // namespace orrery::live
