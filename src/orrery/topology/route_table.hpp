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

[[nodiscard]] std::uint64_t hash_of(const RouteKey& key);

class RouteTable {
 public:
  RouteTable();
  /// An invalid id when the key is new.
  [[nodiscard]] RouteId find(const RouteKey& key) const;
  /// `key` is new.
  RouteId add(const RouteKey& key, std::span<const LinkId> links);
  [[nodiscard]] std::span<const LinkId> links(RouteId route) const;

 private:
  /// Open addressing with linear probing; an invalid route marks a free slot.
  struct Slot {
    RouteKey key;
    RouteId route;
  };
  void grow();
  [[nodiscard]] std::span<const LinkId> store(std::span<const LinkId> links);

  std::vector<Slot> slots_;  // A power of two; at most half full.
  std::vector<std::span<const LinkId>> routes_;
  std::vector<std::unique_ptr<LinkId[]>> blocks_;  // A route lies within one block, so its span stays valid.
  std::size_t block_left_ = 0;
  LinkId* block_next_ = nullptr;
};

}  // namespace orrery::topology::detail
