// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Virtual time for programs that ask libc: the clocks, sleeps and timed waits of a rank.
///
/// The library is preloaded, so the functions of interpose_*.cpp stand before those of libc in every process of a
/// run. They pass through until the process is armed, that is, until it has joined as a rank; a forked child is
/// disarmed by itself. In an armed process
///   the rank's thread     reads clocks that charge what it computed, and sleeps and waits in virtual time;
///   every other thread    reads the clock as last published, and sleeps and waits really.
/// The rank's thread is the one that armed the process, or that claimed it last.
#include <cstdint>

namespace orrery::live {

/// What the clocks say, and what the interposed functions need of a rank. Times of the rank are picoseconds.
struct Interposition {
  std::int64_t monotonic_base_ns = 0;  ///< CLOCK_MONOTONIC at virtual time 0, and its relatives.
  std::int64_t realtime_base_ns = 0;   ///< CLOCK_REALTIME at virtual time 0.
  std::int64_t (*now)() = nullptr;     ///< Reads the virtual clock; an event of the program.
  int (*sleep)(std::int64_t) = nullptr;  ///< 0, kNotYours, or -1 when the run is over.
  /// Progress of pending operations, see orrery_progress_hook. Null: there never are any.
  int (*progress)() = nullptr;
  /// Whether there are any of those that progress() waits for. Not null where progress is not.
  int (*has_pending)() = nullptr;
};

/// What a sleep gives, without having slept, to a thread that was the rank's when it called and is not any more.
inline constexpr int kNotYours = 1;

/// CLOCK_REALTIME at virtual time 0 unless ORRERY_EPOCH says otherwise: 2025-01-01. In the past, so that code which
/// hands our deadlines to the kernel by ways we cannot see wakes up too early rather than never.
inline constexpr std::int64_t kDefaultEpochNs = 1'735'689'600'000'000'000;

/// ORRERY_EPOCH, nanoseconds since 1970, or the default when it is not set or no such number. Not below 10^18 (the
/// year 2001): a deadline tells by its size which clock it belongs to.
[[nodiscard]] std::int64_t epoch_from_environment();

/// From now on this process has virtual clocks; the calling thread is the rank's.
void interpose_arm(const Interposition& interposition);
void interpose_disarm();
[[nodiscard]] bool interpose_is_armed();

/// The virtual clock has moved: what other threads read from now on.
void interpose_publish(std::int64_t clock_ps);

/// The calling thread is the rank's from now on: it called a function of the library.
void interpose_claim();
/// Whether the calling thread is the rank's.
[[nodiscard]] bool interpose_is_rank_thread();

/// Whether the calling thread is inside our own library.
[[nodiscard]] bool interpose_is_inside();

/// While one lives, this thread is inside our own library: clock reads have no effect (a signal handler may read
/// one at any moment) and waits are real. They nest.
class InsideLibrary {
 public:
  InsideLibrary();
  ~InsideLibrary();
  InsideLibrary(const InsideLibrary&) = delete;
  InsideLibrary& operator=(const InsideLibrary&) = delete;
};

/// The host's CLOCK_MONOTONIC in nanoseconds, in every process and state.
[[nodiscard]] std::int64_t real_now();
/// CPU time of the calling thread in nanoseconds. A system call, about 0.3 us.
[[nodiscard]] std::int64_t real_thread_cpu();

}  // namespace orrery::live
