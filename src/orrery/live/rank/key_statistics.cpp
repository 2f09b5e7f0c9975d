// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/key_statistics.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace orrery::live {

void LowEnd::add(std::int64_t value) {
  const std::uint32_t before = count_.load(std::memory_order_relaxed);
  if (before != UINT32_MAX) count_.store(before + 1, std::memory_order_relaxed);
  const std::size_t kept = std::min<std::size_t>(before, kKept);
  // Insertion from the largest down; what falls out at the end is forgotten.
  std::size_t place = kept;
  while (place > 0) {
    const std::int64_t larger = smallest_[place - 1].load(std::memory_order_relaxed);
    if (value >= larger) break;
    if (place < kKept) smallest_[place].store(larger, std::memory_order_relaxed);
    --place;
  }
  if (place < kKept) smallest_[place].store(value, std::memory_order_relaxed);
}

std::int64_t LowEnd::value() const {
  const std::size_t step = std::min<std::size_t>(count() / kPerStep, kKept - 1);
  return smallest_[step].load(std::memory_order_relaxed);
}

void LowEnd::note_far() {
  const std::uint32_t before = far_.load(std::memory_order_relaxed);
  if (before != UINT32_MAX) far_.store(before + 1, std::memory_order_relaxed);
}

bool LowEnd::is_rarely_far(std::uint32_t one_of) const {
  return count() / one_of >= std::max(1U, far_.load(std::memory_order_relaxed));
}

KeyTable::KeyTable() : entries_{nullptr}, is_own_{true} {
  void* memory =
      ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc{};
  entries_ = static_cast<Entry*>(memory);
}

KeyTable::~KeyTable() {
  if (is_own_) ::munmap(entries_, kBytes);
}

std::size_t KeyTable::size() const {
  return static_cast<std::size_t>(std::count_if(entries_, entries_ + kEntries, [](const Entry& entry) {
    return entry.key.load(std::memory_order_relaxed) != 0;
  }));
}

LowEnd& KeyTable::find(std::uint64_t key) {
  constexpr std::size_t kProbes = 64;
  if (key == 0) key = 1;
  for (std::size_t probe = 0; probe < kProbes; ++probe) {
    Entry& entry = entries_[(key + probe) % kEntries];
    std::uint64_t found = entry.key.load(std::memory_order_relaxed);
    if (found == 0) entry.key.compare_exchange_strong(found, key, std::memory_order_relaxed);
    if (found == 0 || found == key) return entry.low;
  }
  new (&unknown_) LowEnd;
  return unknown_;
}

}  // namespace orrery::live
