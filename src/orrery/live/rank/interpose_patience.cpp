// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/interpose_patience.hpp"

#include <algorithm>

#include "orrery/live/rank/interpose_threads.hpp"

namespace orrery::live {
namespace {

constexpr std::int64_t kStep = 1'000'000;
constexpr std::int64_t kOutsideStep = 50'000'000;
constexpr std::int64_t kIdle = 4'000'000;
/// Less CPU time than this between two looks is our own reading of two clocks, one after the other.
constexpr std::int64_t kClockSkew = 20'000;

}  // namespace

Patience::Patience(std::int64_t limit_ns, bool is_outside_awaited)
    : is_for_threads_{has_other_threads()},
      is_for_outside_{is_outside_awaited || interpose_state.is_at_real_pace || has_children()} {
  if (!is_for_threads_ && !is_for_outside_) return;
  idle_since_ = real_now();
  end_ = limit_ns > kForever - idle_since_ ? kForever : idle_since_ + limit_ns;
  others_cpu_ = cpu_of_others();
}

std::int64_t Patience::next_step() {
  if (!is_for_threads_ && !is_for_outside_) return 0;
  const std::int64_t now = real_now();
  if (now < woken_end_ && agenda_has_due()) return kStep;
  const std::int64_t left = end_ - now;
  if (left <= 0) return 0;
  if (is_for_outside_) return std::min(left, kOutsideStep);
  return are_threads_idle(now) ? 0 : std::min(left, kStep);
}

void Patience::time_moved() {
  idle_since_ = real_now();
  woken_end_ = idle_since_ + 2 * kLookNs;
}

bool Patience::are_threads_idle(std::int64_t now) {
  const std::int64_t cpu = cpu_of_others();
  if (cpu - others_cpu_ > kClockSkew) {
    others_cpu_ = cpu;
    idle_since_ = now;
  }
  if (now - idle_since_ < kIdle) return false;
  // A thread that the host is too busy to run uses no CPU either.
  if (!is_other_thread_runnable()) return true;
  idle_since_ = now;
  return false;
}

}  // namespace orrery::live
