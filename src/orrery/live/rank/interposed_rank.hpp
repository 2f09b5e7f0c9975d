// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A rank that is nothing but a clock, for tests of the interposed functions.
#include <gtest/gtest.h>
#include <time.h>

#include <atomic>
#include <cstdint>

#include "orrery/live/rank/interpose.hpp"

namespace orrery::live {

inline constexpr std::int64_t kMs = 1'000'000;
inline constexpr std::int64_t kSecond = 1'000 * kMs;
inline constexpr std::int64_t kPsPerNs = 1'000;
inline constexpr std::int64_t kMonotonicBase = 500 * kSecond;

inline std::atomic<std::int64_t> clock_ps;
inline std::atomic<int> reads;
inline std::atomic<int> progress_left;

inline std::int64_t rank_now() {
  const InsideLibrary inside;
  ++reads;
  clock_ps += 100;  // So that loops of clock reads end.
  interpose_publish(clock_ps);
  return clock_ps;
}

inline int rank_sleep(std::int64_t ps) {
  const InsideLibrary inside;
  if (!interpose_is_rank_thread()) return kNotYours;
  clock_ps += ps;
  interpose_publish(clock_ps);
  return 0;
}

inline int rank_progress() { return progress_left > 0 ? progress_left-- : 0; }

inline std::int64_t in_ns(const timespec& time) { return time.tv_sec * kSecond + time.tv_nsec; }
inline timespec spec(std::int64_t ns) { return {.tv_sec = ns / kSecond, .tv_nsec = ns % kSecond}; }

inline std::int64_t read_clock(clockid_t clock) {
  timespec time{};
  EXPECT_EQ(::clock_gettime(clock, &time), 0);
  return in_ns(time);
}
inline timespec after(clockid_t clock, std::int64_t ns) { return spec(read_clock(clock) + ns); }

class Interposed : public testing::Test {
 protected:
  Interposed() {
    clock_ps = 0;
    progress_left = 0;
    interpose_publish(0);
    arm();
    real_begin_ = real_now();
  }
  ~Interposed() override { interpose_disarm(); }

  static void arm() {
    interpose_arm({.monotonic_base_ns = kMonotonicBase,
                   .realtime_base_ns = kDefaultEpochNs,
                   .now = rank_now,
                   .sleep = rank_sleep,
                   .progress = rank_progress,
                   .has_pending = [] { return progress_left > 0 ? 1 : 0; }});
  }

  static std::int64_t virtual_ms() { return clock_ps / kPsPerNs / kMs; }
  [[nodiscard]] std::int64_t real_ms() const { return (real_now() - real_begin_) / kMs; }
  /// So much virtual time and next to no real time has passed. The host may be busy.
  void expect_virtual(std::int64_t ms) const {
    EXPECT_EQ(virtual_ms(), ms);
    EXPECT_LT(real_ms(), ms / 2);
  }

 private:
  std::int64_t real_begin_ = 0;
};

}  // namespace orrery::live
