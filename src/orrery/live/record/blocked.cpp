// SPDX-License-Identifier: Apache-2.0
// Preloaded into the ranks of a real run: tells whoever set the hook how long std::condition_variable::wait() took.
// Futures of torch wait there (DDP's gradients, above all), by a call that nobody can override.
#include <pthread.h>
#include <time.h>

#include <condition_variable>
#include <cstdint>
#include <mutex>

extern "C" {
/// Begin and end in nanoseconds of CLOCK_MONOTONIC, on the thread that waited.
[[gnu::visibility("default")]] void (*orrery_blocked_hook)(std::int64_t, std::int64_t) = nullptr;
}

namespace {

std::int64_t now_ns() {
  timespec time{};
  ::clock_gettime(CLOCK_MONOTONIC, &time);
  constexpr std::int64_t kSecond = 1'000'000'000;
  return time.tv_sec * kSecond + time.tv_nsec;
}

}  // namespace

// The member function under its own name: it cannot be defined twice in C++, but its symbol can.
[[gnu::visibility("default")]] void orrery_noted_wait(
    std::condition_variable* condition,
    std::unique_lock<std::mutex>& lock) __asm__("_ZNSt18condition_variable4waitERSt11unique_lockISt5mutexE");

void orrery_noted_wait(std::condition_variable* condition, std::unique_lock<std::mutex>& lock) {
  if (orrery_blocked_hook == nullptr) {
    ::pthread_cond_wait(condition->native_handle(), lock.mutex()->native_handle());
    return;
  }
  const std::int64_t begin = now_ns();
  ::pthread_cond_wait(condition->native_handle(), lock.mutex()->native_handle());
  orrery_blocked_hook(begin, now_ns());
}
