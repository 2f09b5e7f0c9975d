// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What both sides of the engine benchmark simulate: a star of equal links and the sizes of an all-to-all.
#include <cstdint>

namespace bench {

constexpr double kBandwidth = 25e9;  // Bytes per second, each link and direction.
constexpr double kLatency = 500e-9;  // Seconds, each link; a path has two.

/// Bytes from one host to another: an equal part of `bytes` per host, times 1 +- jitter/2 by a fixed hash.
inline std::int64_t pair_bytes(int from, int to, int hosts, double bytes, double jitter) {
  std::uint64_t x = static_cast<std::uint64_t>(from) * 1000003U + static_cast<std::uint64_t>(to);
  x = (x ^ (x >> 31)) * 0x9E3779B97F4A7C15ULL;
  x = (x ^ (x >> 29)) * 0xBF58476D1CE4E5B9ULL;
  const double uniform = static_cast<double>(x >> 11) * 0x1.0p-53;
  return static_cast<std::int64_t>(bytes / hosts * (1 + jitter * (uniform - 0.5)));
}

}  // namespace bench
