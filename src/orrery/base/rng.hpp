// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Counter-based random streams: the n-th number of a stream depends on (seed, path, purpose, n) alone, so
/// adding a component or a thread never shifts another one's numbers. Philox 4x32-10 (Salmon et al., SC'11).
#include <array>
#include <cstdint>
#include <string_view>

namespace orrery {

class Rng {
 public:
  /// `path` names the component, e.g. "link[3]"; `purpose` what it draws, e.g. "jitter".
  Rng(std::uint64_t seed, std::string_view path, std::string_view purpose = "");

  [[nodiscard]] std::uint64_t next();
  /// Uniform in [low, high], both included, without modulo bias.
  [[nodiscard]] std::int64_t between(std::int64_t low, std::int64_t high);
  /// Uniform in [0, 1), 53 bits.
  [[nodiscard]] double uniform();
  /// Standard normal (Box-Muller on two fresh uniforms; library distributions differ between platforms).
  [[nodiscard]] double normal();
  /// Exponential with mean 1.
  [[nodiscard]] double exponential();

 private:
  void refill();
  std::array<std::uint32_t, 2> key_{};
  std::array<std::uint32_t, 4> counter_{};
  std::array<std::uint64_t, 2> buffer_{};
  int left_ = 0;
};

}  // namespace orrery
