// SPDX-License-Identifier: Apache-2.0
#include "orrery/base/rng.hpp"

#include <cmath>
#include <numbers>

#include "orrery/base/check.hpp"
#include "orrery/base/digest.hpp"

namespace orrery {

Rng::Rng(std::uint64_t seed, std::string_view path, std::string_view purpose) {
  Digest stream;
  stream.add(path);
  stream.add(purpose);
  key_ = {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  counter_[2] = static_cast<std::uint32_t>(stream.value());
  counter_[3] = static_cast<std::uint32_t>(stream.value() >> 32);
}

void Rng::refill() {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  std::array<std::uint32_t, 4> x = counter_;
  std::array<std::uint32_t, 2> key = key_;
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kMultiplier0 * x[0];
    const std::uint64_t p1 = kMultiplier1 * x[2];
    x = {static_cast<std::uint32_t>(p1 >> 32) ^ x[1] ^ key[0], static_cast<std::uint32_t>(p1),
         static_cast<std::uint32_t>(p0 >> 32) ^ x[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key[0] += 0x9E3779B9;
    key[1] += 0xBB67AE85;
  }
  if (++counter_[0] == 0) ++counter_[1];
  buffer_ = {(std::uint64_t{x[1]} << 32) | x[0], (std::uint64_t{x[3]} << 32) | x[2]};
  left_ = 2;
}

std::uint64_t Rng::next() {
  if (left_ == 0) refill();
  return buffer_[static_cast<std::size_t>(2 - left_--)];
}

std::int64_t Rng::between(std::int64_t low, std::int64_t high) {
  ORRERY_CHECK(low <= high, "empty range [{}, {}]", low, high);
  const std::uint64_t span = static_cast<std::uint64_t>(high) - static_cast<std::uint64_t>(low) + 1;
  if (span == 0) return static_cast<std::int64_t>(next());  // The whole 64-bit range.
  const std::uint64_t threshold = (0 - span) % span;        // Values below it would be over-represented.
  std::uint64_t value = next();
  while (value < threshold) value = next();
  return static_cast<std::int64_t>(static_cast<std::uint64_t>(low) + value % span);
}

double Rng::uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }

double Rng::normal() {
  const double radius = std::sqrt(-2 * std::log(1 - uniform()));
  return radius * std::cos(2 * std::numbers::pi * uniform());
}

double Rng::exponential() { return -std::log(1 - uniform()); }

}  // namespace orrery
