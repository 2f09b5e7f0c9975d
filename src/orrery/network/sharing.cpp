// SPDX-License-Identifier: Apache-2.0
#include "orrery/network/sharing.hpp"

#include <algorithm>
#include <cmath>

#include "orrery/base/check.hpp"

namespace orrery::network {
namespace {
/// Levels closer than this are one level: rounding must not split flows that are equal by symmetry.
constexpr double kSameLevel = 1e-12;
constexpr double kInfinite = std::numeric_limits<double>::infinity();
}  // namespace

void Sharing::mark(std::uint32_t link) {
  if (links_[link].dirty) return;
  links_[link].dirty = true;
  dirty_.push_back(link);
}

void Sharing::set_capacity(std::uint32_t link, double capacity) {
  ORRERY_CHECK(capacity >= 0 && std::isfinite(capacity), "capacity {}", capacity);
  links_[link].capacity = capacity;
  if (lists_[link].empty()) return;
  frozen_below_ = 0;  // A capacity may fall below any rate: nothing is safe.
  mark(link);
}

std::uint32_t Sharing::take_pool(std::uint32_t count) {
  if (count < free_pool_.size() && !free_pool_[count].empty()) {
    const std::uint32_t first = free_pool_[count].back();
    free_pool_[count].pop_back();
    return first;
  }
  const auto first = static_cast<std::uint32_t>(pool_.size());
  for (std::uint32_t hop = 0; hop < count;
       ++hop) {  // Shorter than insert() for the two or six hops of a path.
    pool_.push_back(0);
    places_.push_back(0);
  }
  return first;
}

std::uint32_t Sharing::add(std::span<const std::uint32_t> path) {
  ORRERY_CHECK(!path.empty(), "a flow needs a path");
  std::uint32_t id = 0;
  if (free_flows_.empty()) {
    id = static_cast<std::uint32_t>(rates_.size());
    rates_.emplace_back();
    visits_.emplace_back();
    routes_.emplace_back();
  } else {
    id = free_flows_.back();
    free_flows_.pop_back();
  }
  const auto count = static_cast<std::uint32_t>(path.size());
  const std::uint32_t first = take_pool(count);
  rates_[id] = 0;
  routes_[id] = {first, count};
  for (std::uint32_t hop = 0; hop < count; ++hop) {
    const std::uint32_t link = path[hop];
    std::vector<Slot>& list = lists_[link];
    pool_[first + hop] = link;
    places_[first + hop] = static_cast<std::uint32_t>(list.size());
    if (list.empty()) ++used_links_;
    list.push_back({id, hop});
    // The new flow gets at least an equal share of each link, so nobody slower than that can be touched.
    frozen_below_ = std::min(frozen_below_, links_[link].capacity / static_cast<double>(list.size()));
    mark(link);
  }
  return id;
}

void Sharing::remove(std::uint32_t id) {
  const Route route = routes_[id];
  frozen_below_ = std::min(frozen_below_, rates_[id]);
  for (std::uint32_t hop = 0; hop < route.count; ++hop) {
    const std::uint32_t on = pool_[route.first + hop];
    std::vector<Slot>& list = lists_[on];
    const std::uint32_t place = places_[route.first + hop];
    const Slot moved = list.back();
    list[place] = moved;
    places_[routes_[moved.flow].first + moved.hop] = place;
    list.pop_back();
    if (list.empty()) {
      --used_links_;
    } else {
      mark(on);
    }
  }
  if (free_pool_.size() <= route.count) free_pool_.resize(route.count + 1);
  free_pool_[route.count].push_back(route.first);
  free_flows_.push_back(id);
}

void Sharing::next_visit() {
  visit_ += 2;
  if (visit_ != 0) return;
  // Once in two thousand million solves the numbers start again.
  std::ranges::fill(visits_, 0U);
  for (Link& link : links_) link.visit = 0;
  visit_ = 2;
}

void Sharing::collect_link(std::uint32_t id) {
  const std::vector<Slot>& list = lists_[id];
  if (picked_.size() < list.size()) picked_.resize(2 * list.size());
  double left = links_[id].capacity;
  std::size_t fresh = 0;
  std::uint32_t frozen_flows = 0;
  // Which flows are frozen looks random to the processor, so this pass has no branches to guess; local copies
  // tell the compiler that nothing it reads is written.
  const double* const rates = rates_.data();
  const std::uint32_t* const visits = visits_.data();
  std::uint32_t* const picked = picked_.data();
  const std::uint32_t visit = visit_;
  const double frozen_below = frozen_below_;
  for (const Slot& slot : list) {
    const double rate = rates[slot.flow];
    const bool is_new = visits[slot.flow] != visit;
    const bool is_frozen = is_new & (rate < frozen_below) & (rate > 0);
    left -= is_frozen ? rate : 0.0;
    frozen_flows += is_frozen ? 1U : 0U;
    picked[fresh] = slot.flow;
    fresh += (is_new & !is_frozen) ? 1U : 0U;
  }
  for (std::size_t i = 0; i < fresh; ++i) {
    visits_[picked_[i]] = visit_;
    seen_flows_.push_back(picked_[i]);
    if (seen_links_.size() == used_links_) continue;  // No link is left to find.
    const Route route = routes_[picked_[i]];
    for (std::uint32_t hop = 0; hop < route.count; ++hop) {
      const std::uint32_t next = pool_[route.first + hop];
      if (links_[next].visit == visit_) continue;
      links_[next].visit = visit_;
      seen_links_.push_back(next);
    }
  }
  links_[id].left = std::max(left, 0.0);
  links_[id].open = static_cast<std::uint32_t>(list.size()) - frozen_flows;
  links_[id].fixing = 0;
}

void Sharing::collect() {
  next_visit();
  seen_links_.clear();
  seen_flows_.clear();
  frozen_below_ *= 1 - 1e-9;  // Rounding must not freeze a flow that stands exactly at the limit.
  for (const std::uint32_t link : dirty_) {
    links_[link].dirty = false;
    if (links_[link].visit == visit_ || lists_[link].empty()) continue;
    links_[link].visit = visit_;
    seen_links_.push_back(link);
  }
  dirty_.clear();
  for (std::size_t i = 0; i < seen_links_.size(); ++i) collect_link(seen_links_[i]);  // Grows while it runs.
  frozen_below_ = kInfinite;
}

void Sharing::fix_flows(std::uint32_t id, double level) {
  touched_.clear();
  std::size_t open = 0;
  std::uint32_t* const picked = picked_.data();
  std::uint32_t* const visits = visits_.data();
  const std::uint32_t visit = visit_;
  for (const Slot& slot : lists_[id]) {  // Without branches, as above.
    picked[open] = slot.flow;
    open += visits[slot.flow] == visit ? 1U : 0U;  // Else it is frozen, or fixed already.
  }
  Link* const links = links_.data();
  const std::uint32_t* const pool = pool_.data();
  for (std::size_t i = 0; i < open; ++i) {
    visits[picked[i]] = visit + 1;
    rates_[picked[i]] = level;
    const Route route = routes_[picked[i]];
    for (std::uint32_t hop = route.first; hop < route.first + route.count; ++hop) {
      if (links[pool[hop]].fixing++ == 0) touched_.push_back(pool[hop]);
    }
  }
  // One subtraction per link and level, whatever the order of its flows: equal links stay equal to the bit.
  for (const std::uint32_t other : touched_) {
    Link& crossed = links_[other];
    crossed.left = std::max(0.0, crossed.left - level * crossed.fixing);
    crossed.open -= crossed.fixing;
    crossed.fixing = 0;
    shares_[crossed.place] = crossed.open > 0 ? crossed.left / crossed.open : kInfinite;
  }
}

void Sharing::fill() {
  shares_.resize(seen_links_.size());
  for (std::uint32_t place = 0; place < seen_links_.size(); ++place) {
    Link& link = links_[seen_links_[place]];
    link.place = place;
    shares_[place] = link.open > 0 ? link.left / link.open : kInfinite;
  }
  // Looking through a few hundred shares is cheaper than keeping them in a heap (measured).
  constexpr std::size_t kFewLinks = 256;
  if (seen_links_.size() <= kFewLinks) {
    fill_by_scan();
  } else {
    fill_by_heap();
  }
}

void Sharing::fill_by_scan() {
  double level = 0;
  for (;;) {
    double least = kInfinite;
    std::size_t place = 0;
    for (std::size_t i = 0; i < shares_.size(); ++i) {
      if (shares_[i] < least) {
        least = shares_[i];
        place = i;
      }
    }
    if (least == kInfinite) return;
    if (least > level * (1 + kSameLevel)) level = least;
    fix_flows(seen_links_[place], level);
    // It has no open flows left: the last one takes its place, and later scans are shorter.
    const std::uint32_t last = seen_links_.back();
    seen_links_[place] = last;
    shares_[place] = shares_.back();
    links_[last].place = static_cast<std::uint32_t>(place);
    seen_links_.pop_back();
    shares_.pop_back();
  }
}

void Sharing::fill_by_heap() {
  const auto later = [](const Key& a, const Key& b) {
    return a.share > b.share || (a.share == b.share && a.link > b.link);
  };
  heap_.clear();
  for (const std::uint32_t id : seen_links_) {
    if (links_[id].open > 0) heap_.push_back({shares_[links_[id].place], id});
  }
  std::make_heap(heap_.begin(), heap_.end(), later);
  double level = 0;
  while (!heap_.empty()) {
    const Key top = heap_.front();
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    const double share = shares_[links_[top.link].place];
    if (share == kInfinite) continue;
    // Shares only rise, so an entry that is out of date goes back and the next one is tried.
    if (share > top.share && !heap_.empty() && share > heap_.front().share) {
      heap_.push_back({share, top.link});
      std::push_heap(heap_.begin(), heap_.end(), later);
      continue;
    }
    if (share > level * (1 + kSameLevel)) level = share;
    fix_flows(top.link, level);
  }
}

std::span<const std::uint32_t> Sharing::solve() {
  collect();
  fill();
  solved_ += seen_flows_.size();
  return seen_flows_;
}

double Sharing::certificate_error() const {
  double worst = 0;
  std::vector<double> load(links_.size(), 0);
  std::vector<double> fastest(links_.size(), 0);
  std::vector<bool> live(rates_.size(), true);
  for (const std::uint32_t flow : free_flows_) live[flow] = false;
  for (std::uint32_t id = 0; id < rates_.size(); ++id) {
    if (!live[id]) continue;
    for (const std::uint32_t link : path(id)) {
      load[link] += rates_[id];
      fastest[link] = std::max(fastest[link], rates_[id]);
    }
  }
  for (std::size_t link = 0; link < links_.size(); ++link) {
    if (load[link] > links_[link].capacity) worst = std::max(worst, load[link] / links_[link].capacity - 1);
  }
  for (std::uint32_t id = 0; id < rates_.size(); ++id) {
    if (!live[id]) continue;
    double best = kInfinite;  // The link that comes closest to being a bottleneck.
    for (const std::uint32_t link : path(id)) {
      const double slack = links_[link].capacity > 0 ? 1 - load[link] / links_[link].capacity : 0;
      const double slower = fastest[link] > 0 ? 1 - rates_[id] / fastest[link] : 0;
      best = std::min(best, std::max(slack, slower));
    }
    worst = std::max(worst, best);
  }
  return worst;
}

}  // namespace orrery::network
