// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The memory through which tensors travel (protocol.hpp says how it is cut up). Standard library and Linux only.
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <vector>

#include "orrery/live/protocol.hpp"

namespace orrery::live {

/// The mapping. Movable, not copied; failures of the system are std::system_error.
class Arena {
 public:
  /// The coordinator's: room for `parts` parts.
  [[nodiscard]] static Arena create(std::uint32_t parts);
  /// A program's: maps what the descriptor holds; the descriptor stays the caller's.
  [[nodiscard]] static Arena open(int descriptor);
  Arena(Arena&& other) noexcept;
  Arena& operator=(Arena&&) = delete;
  ~Arena();

  [[nodiscard]] int descriptor() const { return descriptor_; }
  [[nodiscard]] std::uint32_t parts() const { return parts_; }
  [[nodiscard]] std::byte* at(std::int64_t offset) const { return base_ + offset; }
  template <class T>
  [[nodiscard]] T& get(std::int64_t offset) const {
    return *reinterpret_cast<T*>(at(offset));
  }
  /// Whether `bytes` from `offset` lie inside, for offsets that others wrote.
  [[nodiscard]] bool holds(std::int64_t offset, std::size_t bytes) const;
  [[nodiscard]] std::int64_t offset_of(const void* address) const {
    return static_cast<const std::byte*>(address) - base_;
  }
  [[nodiscard]] RankPage& page(std::uint32_t part) const {
    return get<RankPage>(static_cast<std::int64_t>(part * kArenaPart));
  }

 private:
  Arena(std::byte* base, std::uint32_t parts, int descriptor);
  std::byte* base_ = nullptr;
  std::uint32_t parts_ = 0;
  int descriptor_ = -1;
};

/// Allocates in one part. A block is reused when its users count has come down to 0, whoever lowered it; large
/// blocks that lie idle give their pages back.
class ArenaHeap {
 public:
  ArenaHeap(Arena& arena, std::uint32_t part);

  /// Zeroed up to `zeroed` bytes; aligned to 64. One user. std::bad_alloc when the part is full.
  [[nodiscard]] void* allocate(std::size_t bytes, std::size_t zeroed);
  /// The header of an allocation.
  [[nodiscard]] static Block& block_of(void* memory) {
    return *reinterpret_cast<Block*>(static_cast<std::byte*>(memory) - sizeof(Block));
  }
  /// One user less. From any process.
  static void release(void* memory) { block_of(memory).users.fetch_sub(1, std::memory_order_acq_rel); }
  [[nodiscard]] std::uint64_t bytes_in_use() const { return in_use_; }

 private:
  void collect();
  Block* take(std::uint64_t size);

  Arena& arena_;
  std::int64_t end_;  // Of what was ever handed out.
  std::int64_t limit_;
  static constexpr std::uint64_t kUnit = 256;  // Sizes are multiples of it.
  static constexpr std::uint64_t kSmall =
      4096;  // Up to here, blocks of each size are kept apart: most are small.
  std::array<std::vector<Block*>, kSmall / kUnit + 1> free_small_;
  std::multimap<std::uint64_t, Block*> free_;  // Larger ones, by size.
  std::vector<Block*> live_;                   // Handed out, perhaps released since.
  std::size_t next_collection_ = 64;           // When live_ has grown to this.
  std::uint64_t in_use_ = 0;
};

}  // namespace orrery::live
