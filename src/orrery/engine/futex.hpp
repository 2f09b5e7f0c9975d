// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sleeping on a word of memory that threads and processes share. Never spins: on one core a spinning waiter
/// keeps the one it waits for from running.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <ctime>

namespace orrery::engine {

using FutexWord = std::atomic<std::uint32_t>;
static_assert(FutexWord::is_always_lock_free && sizeof(FutexWord) == sizeof(std::uint32_t));

/// Sleeps while the word holds `expected`; false when `timeout` ran out. May wake for no reason, and does so
/// for signals.
inline bool futex_wait(FutexWord& word, std::uint32_t expected, const timespec* timeout) {
  const long result = ::syscall(SYS_futex, &word, FUTEX_WAIT, expected, timeout, nullptr, 0);
  return result == 0 || errno != ETIMEDOUT;
}

/// Wakes one.
inline void futex_wake(FutexWord& word) { ::syscall(SYS_futex, &word, FUTEX_WAKE, 1, nullptr, nullptr, 0); }

inline void futex_wake_all(FutexWord& word) {
  ::syscall(SYS_futex, &word, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

}  // namespace orrery::engine
