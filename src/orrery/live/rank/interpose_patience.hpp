// SPDX-License-Identifier: Apache-2.0
#pragma once
/// When may a wait move virtual time on? Other threads and child processes of a rank live in real time; a rank that
/// waits for one of them must not run into its own timeout just because virtual time costs nothing.
///
///   nobody else can answer           at once
///   other threads                    when all of them have been idle for a few milliseconds
///   children, the outside world      when the real time of the timeout has passed
/// Never later than that: without us the wait would have ended by then, too.
#include <algorithm>
#include <cstdint>

#include "orrery/live/rank/interpose_agenda.hpp"
#include "orrery/live/rank/interpose_alarm.hpp"
#include "orrery/live/rank/interpose_state.hpp"

namespace orrery::live {

class Patience {
 public:
  /// `limit_ns`: the timeout. `is_outside_awaited`: somebody outside this process may answer, beside its children.
  explicit Patience(std::int64_t limit_ns, bool is_outside_awaited = false);

  /// How long to wait really before asking again, in nanoseconds; 0: no more, time may move.
  std::int64_t next_step();
  /// Time has moved to where other threads wake up: they come first.
  void time_moved();

 private:
  bool are_threads_idle(std::int64_t now);

  bool is_for_threads_ = false;
  bool is_for_outside_ = false;
  std::int64_t end_ = 0;
  std::int64_t idle_since_ = 0;
  std::int64_t woken_end_ = 0;  ///< Until when those who are woken may take to wake up.
  std::int64_t others_cpu_ = 0;
};

/// The rank's thread looks after the clock: nobody needs to take over, however long it waits.
class Attending {
 public:
  Attending() { interpose_state.attending.fetch_add(1, std::memory_order_relaxed); }
  ~Attending() { interpose_state.attending.fetch_sub(1, std::memory_order_relaxed); }
  Attending(const Attending&) = delete;
  Attending& operator=(const Attending&) = delete;
};

/// The rank's thread waits for a lock, or a signal: see is_rank_yielding().
class Yielding {
 public:
  explicit Yielding(sem_t* awaited) {
    interpose_state.awaited.store(awaited);
    interpose_state.yielding.store(&interpose_thread);
  }
  ~Yielding() {
    const void* self = &interpose_thread;
    interpose_state.yielding.compare_exchange_strong(self, nullptr);
  }
  Yielding(const Yielding&) = delete;
  Yielding& operator=(const Yielding&) = delete;
};

/// kNotOurs: this thread is not the rank's any more, and waits as others do.
enum class Waited { kOver, kInterrupted, kRunIsOver, kNotOurs };

/// On the rank's thread: waits in virtual time for whatever `check(real_ns)` waits for in real time, for at most
/// that long (0: it only looks); it returns whether the wait is over. `patience()` is asked for when it is not over
/// at once. An alarm interrupts it. `left_ps`, if not null: what is left of the time.
template <class MakePatience, class Check>
Waited wait_virtually(std::int64_t timeout_ps, MakePatience&& make_patience, Check&& check,
                      std::int64_t* left_ps = nullptr) {
  const Attending attending;
  const std::uint32_t alarms = alarms_sent();
  if (left_ps != nullptr) *left_ps = timeout_ps;
  if (check(0) || timeout_ps == 0) return Waited::kOver;
  Patience patience = make_patience();
  for (std::int64_t left = timeout_ps;;) {
    while (const std::int64_t step = patience.next_step()) {
      if (check(step)) return Waited::kOver;
      if (is_interrupted(alarms)) return Waited::kInterrupted;
      if (!interpose_is_rank_thread()) return Waited::kNotOurs;
    }
    // Not beyond where another thread wakes up: it may be the one we wait for.
    const std::int64_t now = interpose_state.published_ps.load(std::memory_order_relaxed);
    const std::int64_t move = std::min(left, agenda_earliest() - now);
    const Moved moved = virtual_sleep(move);
    if (moved != Moved::kThere) return moved == Moved::kNotOurs ? Waited::kNotOurs : Waited::kRunIsOver;
    left -= move;
    if (left_ps != nullptr) *left_ps = left;
    if (check(0)) return Waited::kOver;
    if (is_interrupted(alarms)) return Waited::kInterrupted;
    if (left <= 0) return Waited::kOver;
    patience.time_moved();
  }
}

/// kNotHere: this process is no rank, or the run is over; then sleep really.
enum class Slept { kDone, kInterrupted, kNotHere };

/// Sleeps in virtual time on any thread of a rank. `left_ps`: as in wait_virtually().
Slept sleep_virtually(std::int64_t duration_ps, std::int64_t* left_ps = nullptr);

}  // namespace orrery::live
