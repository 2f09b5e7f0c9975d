// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How much slower than at its best the host computes now: a core that shares its units with another one, or a
/// virtual machine that shares the core, halves its speed for seconds, and CPU time does not show it. A small loop
/// of a fixed amount of work, timed every few milliseconds, does.
///
/// It sees the core, not the memory: work that lives on bandwidth is slowed down by other things.
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>

#include "orrery/live/rank/interpose.hpp"
#include "orrery/live/rank/key_statistics.hpp"

namespace orrery::live {

/// The loop; the nanoseconds it took. About 5 us, every 5 ms.
[[nodiscard]] inline std::int64_t time_reference_loop() {
  // Independent chains, loads and branches, so that it feels a neighbour on the same core as programs do: a single
  // chain of dependent steps would leave the neighbour all the room it wants.
  static std::array<std::uint32_t, 1024> table{};
  constexpr std::uint64_t kFactor = 6364136223846793005ULL;
  std::uint64_t a = 1;
  std::uint64_t b = 2;
  std::uint64_t c = 3;
  std::uint64_t d = 4;
  const std::int64_t begin = real_now();
  for (int i = 0; i < 2000; ++i) {
    a = a * kFactor + table[(a >> 40) & 1023];
    b = b * kFactor + table[(b >> 40) & 1023];
    c = ((c << 7) ^ (c >> 3)) + table[c & 1023];
    d += (c & 1) != 0 ? a ^ b : table[d & 1023];
  }
  const std::int64_t end = real_now();
  table[0] = static_cast<std::uint32_t>(a + b + c + d) & 1U;  // The compiler must not guess the result.
  return end - begin;
}

/// Nanoseconds for the first touch of a page of this process's memory: the least of some batches.
[[nodiscard]] inline std::int64_t time_page_touch() {
  constexpr std::size_t kBatches = 4;
  constexpr std::size_t kPages = 64;
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t bytes = kBatches * kPages * page;
  void* const memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return 0;
  auto* at = static_cast<volatile char*>(memory);
  std::int64_t least = INT64_MAX;
  for (std::size_t batch = 0; batch < kBatches; ++batch) {
    const std::int64_t begin = real_now();
    for (std::size_t i = 0; i < kPages; ++i, at += page) *at = 1;
    least = std::min(least, real_now() - begin);
  }
  ::munmap(memory, bytes);
  return least / static_cast<std::int64_t>(kPages);
}

class HostSpeed {
 public:
  /// `loop` may be null: then the host is always at its best. `best` is what is known of the loop, perhaps from
  /// earlier runs: a whole run may fall into a time when the host is slow.
  HostSpeed(std::int64_t (*loop)(), LowEnd& best) : loop_{loop}, best_{best} {}

  /// Takes a sample unless the last one is recent. `now`: any clock in nanoseconds.
  void sample(std::int64_t now) {
    if (loop_ == nullptr || (has_sampled_ && now - sampled_at_ < kEvery)) return;
    // What was long ago says nothing of now: then all of it is sampled anew.
    const std::size_t samples = has_sampled_ && now - sampled_at_ < kOld ? 1 : recent_.size();
    has_sampled_ = true;
    sampled_at_ = now;
    for (std::size_t i = 0; i < samples; ++i) {
      const std::int64_t took = std::max<std::int64_t>(loop_(), 1);
      best_.add(took);
      recent_[next_++ % recent_.size()] = took;
    }
    auto sorted = recent_;
    std::ranges::sort(sorted);
    slowness_ = std::max(1.0, static_cast<double>(sorted[1]) / static_cast<double>(best_.value()));
  }
  /// >= 1.
  [[nodiscard]] double slowness() const { return slowness_; }

 private:
  static constexpr std::int64_t kEvery = 5'000'000;
  static constexpr std::int64_t kOld = 20'000'000;

  std::int64_t (*loop_)();
  LowEnd& best_;
  bool has_sampled_ = false;
  std::int64_t sampled_at_ = 0;
  std::array<std::int64_t, 3> recent_{};  ///< Their median counts: one of them may have been interrupted.
  std::size_t next_ = 0;
  double slowness_ = 1;
};

}  // namespace orrery::live
