// SPDX-License-Identifier: Apache-2.0
// Monotone radix heap (Ahuja, Mehlhorn, Orlin, Tarjan 1990). Bucket b > 0 holds the events whose time differs
// from the last popped instant in bit b-1 and in no higher one; bucket 0 holds that instant itself. Equal times
// always share a bucket, so an instant comes out whole.
#include <algorithm>
#include <array>
#include <bit>
#include <limits>

#include "orrery/base/check.hpp"
#include "orrery/engine/event_queue.hpp"

namespace orrery::engine {
namespace {

class RadixHeap final : public EventQueue {
 public:
  void push(const Event& event) override {
    ORRERY_DCHECK(event.time >= last_, "event at {} before {}", event.time, last_);
    buckets_[bucket_of(event.time)].push_back(event);
    ++size_;
    next_ = std::min(next_, event.time);
  }

  void pop_instant(std::vector<Event>& out) override {
    ORRERY_CHECK(size_ > 0, "pop from an empty queue");
    const std::int64_t time = next_time();
    if (time != last_) {
      const std::size_t from = bucket_of(time);
      last_ = time;
      lower(buckets_[from]);
    }
    std::vector<Event>& now = buckets_[0];
    size_ -= now.size();
    if (out.empty()) {
      out.swap(now);
    } else {
      out.insert(out.end(), now.begin(), now.end());
      now.clear();
    }
    next_ = kUnknown;
  }

  std::int64_t next_time() override {
    if (next_ != kUnknown || size_ == 0) return size_ == 0 ? kNever : next_;
    std::size_t bucket = 0;
    while (buckets_[bucket].empty()) ++bucket;
    next_ = bucket == 0 ? last_ : std::ranges::min(buckets_[bucket], {}, &Event::time).time;
    return next_;
  }

  std::size_t size() const override { return size_; }

 private:
  static constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  /// "The smallest time is not known": smaller than any real time, so that push() keeps it.
  static constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::min();

  [[nodiscard]] std::size_t bucket_of(std::int64_t time) const {
    return static_cast<std::size_t>(std::bit_width(static_cast<std::uint64_t>(time ^ last_)));
  }

  /// Every event of the bucket agrees with last_ in its highest bit and above, so it moves to a lower bucket.
  void lower(std::vector<Event>& bucket) {
    if (std::ranges::all_of(bucket, [this](const Event& event) { return event.time == last_; })) {
      bucket.swap(buckets_[0]);  // Empty, or its instant would have come first.
      return;
    }
    for (const Event& event : bucket) buckets_[bucket_of(event.time)].push_back(event);
    bucket.clear();
  }

  std::array<std::vector<Event>, 65> buckets_;
  std::int64_t last_ = 0;
  std::int64_t next_ = kNever;
  std::size_t size_ = 0;
};

}  // namespace

std::unique_ptr<EventQueue> make_radix_heap() { return std::make_unique<RadixHeap>(); }

}  // namespace orrery::engine
