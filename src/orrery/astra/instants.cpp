// SPDX-License-Identifier: Apache-2.0
#include "orrery/astra/instants.hpp"

namespace orrery::astra {

std::uint32_t Instants::find(std::uint64_t time) {
  std::size_t slot = slot_of(time);
  while (table_[slot] != kNoBucket && buckets_[table_[slot]].time != time) {
    slot = (slot + 1) & (table_.size() - 1);
  }
  if (table_[slot] == kNoBucket) {
    if (time > kTimeLimit) {
      throw SimulationError{
          "the simulated time exceeds 104 days of nanoseconds; a duration or size is too large"};
    }
    if (free_.empty()) {
      free_.push_back(static_cast<std::uint32_t>(buckets_.size()));
      buckets_.emplace_back();
    }
    const std::uint32_t index = free_.back();
    free_.pop_back();
    buckets_[index].time = time;
    table_[slot] = index;
    const auto at = Time{picoseconds(static_cast<std::int64_t>(time) * 1000)};
    engine_.schedule(at, engine::Phase::kDelivery, origin_, handler_, index);
    cache_[time % kCached] = {.time = time, .bucket = index};
    if (++used_ * 2 > table_.size()) grow();
    return index;
  }
  cache_[time % kCached] = {.time = time, .bucket = table_[slot]};
  return table_[slot];
}

void Instants::remove(std::uint32_t index) {
  Bucket& bucket = buckets_[index];
  const std::size_t mask = table_.size() - 1;
  std::size_t hole = slot_of(bucket.time);
  while (table_[hole] != index) hole = (hole + 1) & mask;
  // What stands behind the hole moves up, so that a search never stops short of what it looks for.
  for (std::size_t next = (hole + 1) & mask; table_[next] != kNoBucket; next = (next + 1) & mask) {
    const std::size_t home = slot_of(buckets_[table_[next]].time);
    if (((next - home) & mask) >= ((next - hole) & mask)) {
      table_[hole] = table_[next];
      hole = next;
    }
  }
  table_[hole] = kNoBucket;
  --used_;
  Cached& cached = cache_[bucket.time % kCached];
  if (cached.time == bucket.time) cached.time = ~std::uint64_t{0};
  bucket.events.clear();
  bucket.provenance.clear();
  free_.push_back(index);
}

void Instants::grow() {
  std::vector<std::uint32_t> old(table_.size() * 2, kNoBucket);
  old.swap(table_);
  for (const std::uint32_t index : old) {
    if (index == kNoBucket) continue;
    std::size_t slot = slot_of(buckets_[index].time);
    while (table_[slot] != kNoBucket) slot = (slot + 1) & (table_.size() - 1);
    table_[slot] = index;
  }
}

}  // namespace orrery::astra
