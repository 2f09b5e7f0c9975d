// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The packet model's own pending set: a calendar of buckets that are sorted when their time comes.
///
/// Packets come in their millions and lie close together in time, so a push is one append to a bucket and a pop one
/// step in a sorted one. Events beyond the calendar wait in a heap. The order is (time, key) and nothing else: it does
/// not depend on the width of buckets or on the order of pushes.
#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

namespace orrery::network::detail {

struct PacketEvent {
  std::int64_t time = 0;   ///< Picoseconds.
  std::uint64_t key = 0;   ///< Orders events of one time: kind, then who.
  std::uint32_t pos = 0;   ///< Of a packet: place in the pool of routes.
  std::uint32_t info = 0;  ///< Of a packet: bytes on the wire and flags.
};
static_assert(sizeof(PacketEvent) == 24, "millions of these are moved");

[[nodiscard]] inline bool is_before(const PacketEvent& a, const PacketEvent& b) {
  return a.time != b.time ? a.time < b.time : a.key < b.key;
}

class PacketQueue {
 public:
  PacketQueue();

  void push(const PacketEvent& event) {
    ++size_;
    const std::int64_t bucket = event.time >> shift_;
    if (bucket > current_bucket_ && bucket - current_bucket_ < kBuckets) [[likely]] {
      put(bucket, event);
    } else {
      push_elsewhere(bucket, event);
    }
  }
  /// The earliest event when it is before `limit`; null when there is none. pop() takes it away.
  [[nodiscard]] const PacketEvent* peek_before(std::int64_t limit) {
    if (next_ == current_.size() && !refill(limit)) return nullptr;
    const PacketEvent& first = current_[next_];
    return first.time < limit ? &first : nullptr;
  }
  void pop() {
    ++next_;
    --size_;
  }
  /// One after next, for those who fetch ahead; null at the end of a bucket.
  [[nodiscard]] const PacketEvent* ahead(std::size_t by) const {
    return next_ + by < current_.size() ? &current_[next_ + by] : nullptr;
  }
  [[nodiscard]] std::size_t size() const { return size_; }
  /// Takes out all events, in order.
  [[nodiscard]] std::vector<PacketEvent> drain();
  /// Empty: what is pushed next is at or after `time`.
  void restart(std::int64_t time) { current_bucket_ = (time >> shift_) - 1; }

 private:
  static constexpr std::int64_t kBuckets = 1024;  // Their heads stay in the first cache.
  static constexpr std::size_t kWords = kBuckets / 64;
  static constexpr std::size_t kAdaptEvery = 1U << 15;

  void put(std::int64_t bucket, const PacketEvent& event) {
    const auto index = static_cast<std::size_t>(bucket & (kBuckets - 1));
    Bucket& into = buckets_[index];
    if (into.count == into.events.size()) [[unlikely]] {
      into.events.resize(std::max<std::size_t>(16, 2 * into.events.size()));
    }
    into.events[into.count++] = event;
    filled_[index / 64] |= std::uint64_t{1} << (index % 64);
  }
  /// Its vector only grows; the first `count` are in use.
  struct Bucket {
    std::vector<PacketEvent> events;
    std::size_t count = 0;
  };
  void push_elsewhere(std::int64_t bucket, const PacketEvent& event);
  /// Makes the next bucket with events the current one; false when it is not before `limit` or there is none. Never
  /// goes past `limit`: what is pushed next may be as early as that.
  bool refill(std::int64_t limit);
  /// The next filled bucket after the current one, or -1.
  [[nodiscard]] std::int64_t next_filled() const;
  void pull_overflow();
  void sort_current();
  void adapt();
  void rebuild(int shift);

  int shift_ = 10;  // A bucket is 2^shift_ picoseconds wide.
  std::int64_t current_bucket_ = -1;
  std::vector<PacketEvent> current_;  // Sorted.
  std::vector<PacketEvent> merged_;   // While sorting.
  std::vector<std::size_t> runs_;     // Likewise: where ascending parts begin.
  std::size_t next_ = 0;
  std::array<Bucket, kBuckets> buckets_;
  std::array<std::uint64_t, kWords> filled_{};
  std::vector<PacketEvent> overflow_;  // Heap, earliest first.
  std::size_t size_ = 0;
  std::size_t drained_events_ = 0;
  std::size_t drained_buckets_ = 0;
  std::size_t far_pushes_ = 0;
};

}  // namespace orrery::network::detail
