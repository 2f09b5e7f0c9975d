// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Logarithm and exponential to the base 2 from +, -, *, / alone: IEEE fixes every bit of those, while libraries differ
/// in the last bit of their own. Costs must be the same on every machine.
#include <cmath>

namespace orrery::device {

/// Of a positive, finite number; error below 1e-14.
[[nodiscard]] inline double portable_log2(double value) {
  int exponent = 0;
  double mantissa = std::frexp(value, &exponent);  // Exact; in [0.5, 1).
  constexpr double kRoot = 0.70710678118654752;
  if (mantissa < kRoot) {
    mantissa *= 2;
    --exponent;
  }
  // ln(x) = 2 atanh((x-1)/(x+1)), |argument| <= 0.1716.
  const double ratio = (mantissa - 1) / (mantissa + 1);
  const double square = ratio * ratio;
  double sum = 0;
  constexpr int kTerms = 12;
  for (int i = kTerms; i >= 0; --i) sum = sum * square + 1.0 / (2 * i + 1);
  constexpr double kPerLn = 1.4426950408889634;
  return exponent + 2 * ratio * sum * kPerLn;
}

/// 2^value, within what a double holds.
[[nodiscard]] inline double portable_exp2(double value) {
  constexpr double kLargest = 1000;
  const double bounded = value > kLargest ? kLargest : value < -kLargest ? -kLargest : value;
  const double whole = std::floor(bounded + 0.5);
  constexpr double kLn2 = 0.69314718055994531;
  const double rest = (bounded - whole) * kLn2;
  double sum = 1;
  constexpr int kTerms = 16;
  for (int i = kTerms; i >= 1; --i) sum = 1 + rest * sum / i;
  return std::ldexp(sum, static_cast<int>(whole));
}

}  // namespace orrery::device
