// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/route_table.hpp"

#include <algorithm>
#include <bit>

#include "orrery/base/check.hpp"
#include "orrery/base/memory.hpp"

namespace orrery::topology::detail {
namespace {
constexpr std::size_t kFirstSlots = 1024;
constexpr std::size_t kBlockLinks = 16 * 1024;

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

std::size_t RouteTable::find(const RouteKey& key) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = home_of(key) & mask;
  while (slots_[at].route.is_valid() && slots_[at].key != key) at = (at + 1) & mask;
  return at;
}

RouteId RouteTable::add(std::size_t place, const RouteKey& key, std::span<const LinkId> links) {
  const RouteId route{routes_.size()};
  ORRERY_CHECK(route.is_valid(), "more routes than an id can number");
  slots_[place] = {key, route};
  routes_.push_back(store(links));
  if (routes_.size() * 2 > slots_.size()) rehash(slots_.size() * 2);
  return route;
}

void RouteTable::reserve(std::size_t more) {
  reserve_more(routes_, more);
  const std::size_t slots = std::bit_ceil((routes_.size() + more) * 2);
  if (slots > slots_.size()) rehash(slots);
}

std::span<const LinkId> RouteTable::links(RouteId route) const {
  ORRERY_CHECK(route.index() < routes_.size(), "route {} of {}", route.value(), routes_.size());
  return routes_[route.index()];
}

void RouteTable::rehash(std::size_t slots) {
  std::vector<Slot> old(slots);
  old.swap(slots_);
  for (const Slot& slot : old) {
    if (slot.route.is_valid()) slots_[find(slot.key)] = slot;
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
