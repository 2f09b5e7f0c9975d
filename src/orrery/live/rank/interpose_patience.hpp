// SPDX-License-Identifier: Apache-2.0
#pragma once
/// When may a wait move virtual time on? Other threads and child processes of a rank live in real time; a rank that
/// waits for one of them must not run into its own timeout just because virtual time costs nothing.
///
///   nobody else can answer           at once
///   other threads                    when all of them have been idle for a few milliseconds
///   children, the outside world      when the real time of the timeout has passed
/// Never later than that: without us the wait would have ended by then, too.
#include <cstdint>

#include "orrery/live/rank/interpose_state.hpp"

namespace orrery::live {

inline constexpr std::int64_t kForever = INT64_MAX;

/// Whether this process has child processes, dead ones included until somebody waits for them.
[[nodiscard]] bool has_children();
/// Whether this process has more threads than this one.
[[nodiscard]] bool has_other_threads();

class Patience {
 public:
  /// `limit_ns`: the timeout. `is_outside_awaited`: somebody outside this process may answer, beside its children.
  explicit Patience(std::int64_t limit_ns, bool is_outside_awaited = false);

  /// How long to wait really before asking again, in nanoseconds; 0: no more, time may move.
  std::int64_t next_step();

 private:
  bool are_threads_idle(std::int64_t now);

  bool is_for_threads_ = false;
  bool is_for_outside_ = false;
  std::int64_t end_ = 0;
  std::int64_t idle_since_ = 0;
  std::int64_t others_cpu_ = 0;
};

/// Waits in virtual time for whatever `check(real_ns)` waits for in real time, for at most that long (0: it only
/// looks). It returns whether the wait is over.
template <class Check>
void wait_virtually(std::int64_t timeout_ps, bool is_outside_awaited, Check&& check) {
  if (check(0) || timeout_ps == 0) return;
  Patience patience{timeout_ps / kPsPerNs, is_outside_awaited};
  while (const std::int64_t step = patience.next_step()) {
    if (check(step)) return;
  }
  virtual_sleep(timeout_ps);
  check(0);
}

}  // namespace orrery::live
