// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Time, bytes and bandwidth as types that cannot be mixed up. Time is integer picoseconds.
#include <chrono>
#include <compare>
#include <cstdint>
#include <string>

namespace orrery {

/// Picoseconds; +-106 days.
using Duration = std::chrono::duration<std::int64_t, std::pico>;

/// The simulated clock. It has no now(): only the engine knows the time.
struct SimClock {
  using rep = Duration::rep;
  using period = Duration::period;
  using duration = Duration;
  using time_point = std::chrono::time_point<SimClock>;
  static constexpr bool is_steady = true;
};
using Time = SimClock::time_point;

inline constexpr Time kTimeMax = Time::max();

/// A count of bytes; never negative in a valid state.
class Bytes {
 public:
  constexpr Bytes() = default;
  constexpr explicit Bytes(std::int64_t count) : count_{count} {}
  [[nodiscard]] constexpr std::int64_t count() const { return count_; }
  constexpr auto operator<=>(const Bytes&) const = default;
  constexpr Bytes& operator+=(Bytes other) {
    count_ += other.count_;
    return *this;
  }
  constexpr Bytes& operator-=(Bytes other) {
    count_ -= other.count_;
    return *this;
  }
  friend constexpr Bytes operator+(Bytes a, Bytes b) { return Bytes{a.count_ + b.count_}; }
  friend constexpr Bytes operator-(Bytes a, Bytes b) { return Bytes{a.count_ - b.count_}; }
  friend constexpr Bytes operator*(Bytes a, std::int64_t n) { return Bytes{a.count_ * n}; }

 private:
  std::int64_t count_ = 0;
};

/// Bits per second, an integer, so that "100Mbps" and "25GBps" are both exact.
class Bandwidth {
 public:
  constexpr Bandwidth() = default;
  [[nodiscard]] static constexpr Bandwidth bits_per_second(std::int64_t bits) { return Bandwidth{bits}; }
  [[nodiscard]] static constexpr Bandwidth bytes_per_second(std::int64_t bytes) {
    return Bandwidth{bytes * 8};
  }
  [[nodiscard]] constexpr std::int64_t bits_per_second() const { return bits_; }
  [[nodiscard]] constexpr double bytes_per_picosecond() const { return static_cast<double>(bits_) / 8e12; }
  constexpr auto operator<=>(const Bandwidth&) const = default;

 private:
  constexpr explicit Bandwidth(std::int64_t bits) : bits_{bits} {}
  std::int64_t bits_ = 0;
};

/// Floating-point operations per second.
struct Flops {
  double per_second = 0;
  constexpr auto operator<=>(const Flops&) const = default;
};

/// Integer division that says which way it rounds. `b` > 0.
[[nodiscard]] constexpr std::int64_t div_floor(std::int64_t a, std::int64_t b) {
  return a / b - ((a % b != 0 && a < 0) ? 1 : 0);
}
[[nodiscard]] constexpr std::int64_t div_ceil(std::int64_t a, std::int64_t b) {
  return a / b + ((a % b != 0 && a > 0) ? 1 : 0);
}

/// Time to push `size` through `bandwidth`, rounded up to a whole picosecond. Saturates at Duration::max().
[[nodiscard]] Duration transfer_time(Bytes size, Bandwidth bandwidth);

/// A model's floating-point picoseconds as a Duration, rounded up; saturates, and a negative or NaN is a bug.
[[nodiscard]] Duration ceil_to_duration(double picoseconds);

/// The same without the check, for hot paths that know `picoseconds` is not negative.
[[nodiscard]] constexpr Duration ceil_unchecked(double picoseconds) {
  constexpr double kLimit = 9.2e18;  // Just under 2^63.
  if (!(picoseconds < kLimit)) return Duration::max();
  const auto whole = static_cast<std::int64_t>(picoseconds);
  return Duration{whole + (static_cast<double>(whole) < picoseconds ? 1 : 0)};
}

/// `at` + `after`, saturating at kTimeMax instead of overflowing.
[[nodiscard]] constexpr Time saturating_add(Time at, Duration after) {
  return after > kTimeMax - at ? kTimeMax : at + after;
}

[[nodiscard]] constexpr Duration picoseconds(std::int64_t count) { return Duration{count}; }
[[nodiscard]] constexpr std::int64_t count_ps(Duration duration) { return duration.count(); }
[[nodiscard]] constexpr std::int64_t count_ps(Time time) { return time.time_since_epoch().count(); }

}  // namespace orrery
