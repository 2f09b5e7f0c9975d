// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What is known of the durations behind each key. Noise on a host is one-sided: something else only ever makes a
/// piece of work slower, so the low end of many repetitions is what the work itself costs, and repeats from run to
/// run. Nanoseconds.
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace orrery::live {

/// The low end of all values so far: the smallest at first, the fourth smallest of many, so that one freak does
/// not decide for ever. All zeros is a valid empty one; several processes may add to it, at the worst a value is lost.
class LowEnd {
 public:
  void add(std::int64_t value);
  [[nodiscard]] std::uint32_t count() const { return count_.load(std::memory_order_relaxed); }
  /// count() > 0.
  [[nodiscard]] std::int64_t value() const;
  /// One of the values was far from what the others stand for.
  void note_far();
  /// Whether that happens in at most one of so many.
  [[nodiscard]] bool is_rarely_far(std::uint32_t one_of) const;

 private:
  static constexpr std::size_t kKept = 4;
  static constexpr std::uint32_t kPerStep = 16;  ///< So many values for each step away from the smallest.
  std::array<std::atomic<std::int64_t>, kKept> smallest_{};
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> far_{0};
};

/// LowEnds by key, in memory that may be shared: ranks that run the same program then know the same, and are charged
/// the same. Never shrinks; pages that are not used cost nothing.
class KeyTable {
 public:
  static constexpr std::size_t kEntries = std::size_t{1} << 16;
  static constexpr std::size_t kBytes = kEntries * 64;

  /// Memory of its own. std::bad_alloc.
  KeyTable();
  /// `memory`: kBytes, aligned to 64, zeros or left by another KeyTable; outlives this one.
  explicit KeyTable(void* memory) : entries_{static_cast<Entry*>(memory)} {}
  ~KeyTable();
  KeyTable(const KeyTable&) = delete;
  KeyTable& operator=(const KeyTable&) = delete;

  /// What is known of `key`. Stays where it is. When the table is full, a new key gets an empty LowEnd each time.
  LowEnd& find(std::uint64_t key);
  /// How many keys it has.
  [[nodiscard]] std::size_t size() const;

 private:
  struct alignas(64) Entry {
    std::atomic<std::uint64_t> key;  ///< 0: free.
    LowEnd low;
  };
  static_assert(sizeof(Entry) == 64);

  Entry* entries_;
  bool is_own_ = false;
  LowEnd unknown_;
};

}  // namespace orrery::live
