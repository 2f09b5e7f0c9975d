// SPDX-License-Identifier: Apache-2.0
#include "orrery/astra/instants.hpp"

namespace orrery::astra {

void Instants::find(std::uint64_t time) {
  std::size_t slot = slot_of(time);
  while (table_[slot] != kNone && buckets_[table_[slot]].time != time)
    slot = (slot + 1) & (table_.size() - 1);
  if (table_[slot] == kNone) {
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
    cached_ = index;
    if (++used_ * 2 > table_.size()) grow();
  } else {
    cached_ = table_[slot];
  }
  cached_time_ = time;
}

void Instants::remove(std::uint32_t index) {
  Bucket& bucket = buckets_[index];
  const std::size_t mask = table_.size() - 1;
  std::size_t hole = slot_of(bucket.time);
  while (table_[hole] != index) hole = (hole + 1) & mask;
  // What stands behind the hole moves up, so that a search never stops short of what it looks for.
  for (std::size_t next = (hole + 1) & mask; table_[next] != kNone; next = (next + 1) & mask) {
    const std::size_t home = slot_of(buckets_[table_[next]].time);
    if (((next - home) & mask) >= ((next - hole) & mask)) {
      table_[hole] = table_[next];
      hole = next;
    }
  }
  table_[hole] = kNone;
  --used_;
  if (cached_time_ == bucket.time) cached_time_ = ~std::uint64_t{0};
  bucket.events.clear();
  bucket.provenance.clear();
  free_.push_back(index);
}

void Instants::grow() {
  std::vector<std::uint32_t> old(table_.size() * 2, kNone);
  old.swap(table_);
  for (const std::uint32_t index : old) {
    if (index == kNone) continue;
    std::size_t slot = slot_of(buckets_[index].time);
    while (table_[slot] != kNone) slot = (slot + 1) & (table_.size() - 1);
    table_[slot] = index;
  }
}

}  // namespace orrery::astra
