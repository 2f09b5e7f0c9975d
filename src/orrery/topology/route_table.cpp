// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/route_table.hpp"

#include <algorithm>

#include "orrery/base/check.hpp"

namespace orrery::topology::detail {
namespace {
constexpr std::size_t kFirstSlots = 1024;
constexpr std::size_t kBlockLinks = 16 * 1024;
}  // namespace

std::uint64_t hash_of(const RouteKey& key) {
  std::uint64_t word = (std::uint64_t{key.source} << 32 | key.target) * 0x9E3779B97F4A7C15ULL;
  word = (word ^ (word >> 32) ^ key.label) * 0xD6E8FEB86659FD93ULL;
  return word ^ (word >> 32);
}

namespace {

/// Where to look first. Eight neighbouring targets of a source are neighbours here too: ranks talk to their peers
/// in order, so most look-ups find their cache line loaded.
std::uint64_t home_of(const RouteKey& key) {
  constexpr std::uint32_t kTogether = 8;
  RouteKey block = key;
  block.target /= kTogether;
  return hash_of(block) * kTogether + key.target % kTogether;
}

}  // namespace

RouteTable::RouteTable() : slots_(kFirstSlots) {}

RouteId RouteTable::find(const RouteKey& key) const {
  const std::size_t mask = slots_.size() - 1;
  for (std::size_t at = home_of(key) & mask; slots_[at].route.is_valid(); at = (at + 1) & mask) {
    if (slots_[at].key == key) return slots_[at].route;
  }
  return {};
}

RouteId RouteTable::add(const RouteKey& key, std::span<const LinkId> links) {
  if (routes_.size() * 2 >= slots_.size()) grow();
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = home_of(key) & mask;
  while (slots_[at].route.is_valid()) at = (at + 1) & mask;
  const RouteId route{routes_.size()};
  ORRERY_CHECK(route.is_valid(), "more routes than an id can number");
  slots_[at] = {key, route};
  routes_.push_back(store(links));
  return route;
}

std::span<const LinkId> RouteTable::links(RouteId route) const {
  ORRERY_CHECK(route.index() < routes_.size(), "route {} of {}", route.value(), routes_.size());
  return routes_[route.index()];
}

void RouteTable::grow() {
  std::vector<Slot> old(slots_.size() * 2);
  old.swap(slots_);
  const std::size_t mask = slots_.size() - 1;
  for (const Slot& slot : old) {
    if (!slot.route.is_valid()) continue;
    std::size_t at = home_of(slot.key) & mask;
    while (slots_[at].route.is_valid()) at = (at + 1) & mask;
    slots_[at] = slot;
  }
}

std::span<const LinkId> RouteTable::store(std::span<const LinkId> links) {
  if (links.empty()) return {};
  if (links.size() > block_left_) {
    block_left_ = std::max(kBlockLinks, links.size());
    blocks_.push_back(std::make_unique<LinkId[]>(block_left_));
    block_next_ = blocks_.back().get();
  }
  LinkId* const begin = block_next_;
  block_next_ = std::ranges::copy(links, begin).out;
  block_left_ -= links.size();
  return {begin, links.size()};
}

}  // namespace orrery::topology::detail
