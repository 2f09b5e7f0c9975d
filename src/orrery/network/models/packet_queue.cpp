// SPDX-License-Identifier: Apache-2.0
#include "orrery/network/models/packet_queue.hpp"

#include <algorithm>
#include <bit>

namespace orrery::network::detail {
namespace {

struct IsAfter {
  bool operator()(const PacketEvent& a, const PacketEvent& b) const { return is_before(b, a); }
};

}  // namespace

/// Merges neighbouring runs until one is left. Packets that move in step are pushed in order, hop by hop, so that even
/// crowded buckets have few runs.
void PacketQueue::sort_current() {
  std::vector<PacketEvent>& events = current_;
  constexpr std::size_t kSmall = 16;
  if (events.size() <= kSmall) {
    for (std::size_t i = 1; i < events.size(); ++i) {
      if (!is_before(events[i], events[i - 1])) continue;
      const PacketEvent event = events[i];
      std::size_t j = i;
      for (; j > 0 && is_before(event, events[j - 1]); --j) events[j] = events[j - 1];
      events[j] = event;
    }
    return;
  }
  runs_.clear();
  runs_.push_back(0);
  for (std::size_t i = 1; i < events.size(); ++i) {
    if (is_before(events[i], events[i - 1])) runs_.push_back(i);
  }
  const auto less = [](const PacketEvent& a, const PacketEvent& b) { return is_before(a, b); };
  merged_.resize(events.size());
  while (runs_.size() > 1) {
    std::size_t kept = 0;
    auto out = merged_.begin();
    const auto at = [&](std::size_t run) {
      return events.begin() + static_cast<std::ptrdiff_t>(run < runs_.size() ? runs_[run] : events.size());
    };
    for (std::size_t run = 0; run < runs_.size(); run += 2) {
      const std::size_t start = runs_[run];
      out = std::merge(at(run), at(run + 1), at(run + 1), at(run + 2), out, less);
      runs_[kept++] = start;
    }
    runs_.resize(kept);
    events.swap(merged_);
  }
}

PacketQueue::PacketQueue() = default;

void PacketQueue::push_elsewhere(std::int64_t bucket, const PacketEvent& event) {
  if (bucket <= current_bucket_) {
    const auto from = current_.begin() + static_cast<std::ptrdiff_t>(next_);
    const auto less = [](const PacketEvent& a, const PacketEvent& b) { return is_before(a, b); };
    current_.insert(std::upper_bound(from, current_.end(), event, less), event);
    return;
  }
  ++far_pushes_;
  overflow_.push_back(event);
  std::push_heap(overflow_.begin(), overflow_.end(), IsAfter{});
}

std::int64_t PacketQueue::next_filled() const {
  const auto start = static_cast<std::size_t>((current_bucket_ + 1) & (kBuckets - 1));
  for (std::size_t step = 0; step <= kWords; ++step) {
    const std::size_t word = (start / 64 + step) % kWords;
    std::uint64_t bits = filled_[word];
    if (step == 0) bits &= ~std::uint64_t{0} << (start % 64);
    if (step == kWords) bits &= ~(~std::uint64_t{0} << (start % 64));
    if (bits == 0) continue;
    const std::size_t index = word * 64 + static_cast<std::size_t>(std::countr_zero(bits));
    const std::size_t distance = (index - start) & (kBuckets - 1);
    return current_bucket_ + 1 + static_cast<std::int64_t>(distance);
  }
  return -1;
}

void PacketQueue::pull_overflow() {
  while (!overflow_.empty() && (overflow_.front().time >> shift_) - current_bucket_ < kBuckets) {
    std::pop_heap(overflow_.begin(), overflow_.end(), IsAfter{});
    put(overflow_.back().time >> shift_, overflow_.back());
    overflow_.pop_back();
  }
}

bool PacketQueue::refill(std::int64_t limit) {
  current_.clear();
  next_ = 0;
  if (size_ == 0) return false;
  if (drained_events_ > kAdaptEvery) adapt();
  pull_overflow();
  std::int64_t bucket = next_filled();
  if (bucket < 0) {
    if (overflow_.front().time >= limit) return false;
    current_bucket_ = (overflow_.front().time >> shift_) - 1;
    pull_overflow();
    bucket = next_filled();
  }
  if (bucket > (limit - 1) >> shift_) return false;
  current_bucket_ = bucket;
  const auto index = static_cast<std::size_t>(bucket & (kBuckets - 1));
  current_.assign(buckets_[index].events.begin(),
                  buckets_[index].events.begin() + static_cast<std::ptrdiff_t>(buckets_[index].count));
  buckets_[index].count = 0;
  filled_[index / 64] &= ~(std::uint64_t{1} << (index % 64));
  sort_current();
  drained_events_ += current_.size();
  ++drained_buckets_;
  return true;
}

void PacketQueue::adapt() {
  constexpr std::size_t kCrowded = 96;
  constexpr int kWidest = 40;
  constexpr int kNarrowest = 4;
  int shift = shift_;
  if (far_pushes_ * 8 > drained_events_) {
    shift = std::min(shift + 2, kWidest);
  } else if (drained_events_ > kCrowded * drained_buckets_ && far_pushes_ * 64 < drained_events_) {
    shift = std::max(shift - 1, kNarrowest);
  }
  drained_events_ = 0;
  drained_buckets_ = 0;
  far_pushes_ = 0;
  if (shift != shift_) rebuild(shift);
}

void PacketQueue::rebuild(int shift) {
  std::vector<PacketEvent> all = drain();
  // All events are at or after the end of the bucket that was current.
  const std::int64_t reached = (current_bucket_ + 1) << shift_;
  shift_ = shift;
  current_bucket_ = (reached >> shift_) - 1;
  for (const PacketEvent& event : all) push(event);
  far_pushes_ = 0;
}

std::vector<PacketEvent> PacketQueue::drain() {
  std::vector<PacketEvent> all(current_.begin() + static_cast<std::ptrdiff_t>(next_), current_.end());
  current_.clear();
  next_ = 0;
  for (std::size_t word = 0; word < kWords; ++word) {
    for (std::uint64_t bits = filled_[word]; bits != 0; bits &= bits - 1) {
      Bucket& bucket = buckets_[word * 64 + static_cast<std::size_t>(std::countr_zero(bits))];
      const auto begin = bucket.events.begin();
      all.insert(all.end(), begin, begin + static_cast<std::ptrdiff_t>(bucket.count));
      bucket.count = 0;
    }
  }
  all.insert(all.end(), overflow_.begin(), overflow_.end());
  overflow_.clear();
  filled_.fill(0);
  size_ = 0;
  std::sort(all.begin(), all.end(),
            [](const PacketEvent& a, const PacketEvent& b) { return is_before(a, b); });
  return all;
}

}  // namespace orrery::network::detail
