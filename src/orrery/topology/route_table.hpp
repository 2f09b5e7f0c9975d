// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Interned routes: (source, target, label) to RouteId, and RouteId to links that never move.
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "orrery/topology/router.hpp"

namespace orrery::topology::detail {

struct RouteKey {
  std::uint32_t source = 0;
  std::uint32_t target = 0;
  std::uint32_t label = 0;
  bool operator==(const RouteKey&) const = default;
};

[[nodiscard]] inline std::uint64_t hash_of(const RouteKey& key) {
  std::uint64_t word = (std::uint64_t{key.source} << 32 | key.target) * 0x9E3779B97F4A7C15ULL;
  word = (word ^ (word >> 32) ^ key.label) * 0xD6E8FEB86659FD93ULL;
  return word ^ (word >> 32);
}

class RouteTable {
 public:
  RouteTable();
  /// Where `key` is, or where add() puts it.
  [[nodiscard]] std::size_t find(const RouteKey& key) const;
  /// What find() found: an invalid id when the key is new.
  [[nodiscard]] RouteId at(std::size_t place) const { return slots_[place].route; }
  /// `key` is new and belongs to `place`.
  RouteId add(std::size_t place, const RouteKey& key, std::span<const LinkId> links);
  /// Room for so many more.
  void reserve(std::size_t more);
  [[nodiscard]] std::span<const LinkId> links(RouteId route) const;

 private:
  /// Open addressing with linear probing; an invalid route marks a free slot.
  struct Slot {
    RouteKey key;
    RouteId route;
  };
  void rehash(std::size_t slots);
  [[nodiscard]] std::span<const LinkId> store(std::span<const LinkId> links);

  std::vector<Slot> slots_;  // A power of two; at most half full.
  std::vector<std::span<const LinkId>> routes_;
  std::vector<std::unique_ptr<LinkId[]>> blocks_;  // A route lies within one block, so its span stays valid.
  std::size_t block_left_ = 0;
  LinkId* block_next_ = nullptr;
};

}  // namespace orrery::topology::detail
