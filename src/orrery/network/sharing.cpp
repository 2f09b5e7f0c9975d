// SPDX-License-Identifier: Apache-2.0
#include "orrery/network/sharing.hpp"

#include <algorithm>
#include <cmath>

#include "orrery/base/check.hpp"

namespace orrery::network {
namespace {
/// Levels closer than this are one level: rounding must not split flows that are equal by symmetry.
constexpr double kSameLevel = 1e-12;
}  // namespace

void Sharing::mark(std::uint32_t link) {
  if (links_[link].dirty) return;
  links_[link].dirty = true;
  dirty_.push_back(link);
}

void Sharing::set_capacity(std::uint32_t link, double capacity) {
  ORRERY_CHECK(capacity >= 0 && std::isfinite(capacity), "capacity {}", capacity);
  links_[link].capacity = capacity;
  if (links_[link].flows.empty()) return;
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
  pool_.resize(pool_.size() + count);
  places_.resize(pool_.size());
  return first;
}

std::uint32_t Sharing::add(std::span<const std::uint32_t> path) {
  ORRERY_CHECK(!path.empty(), "a flow needs a path");
  std::uint32_t id = 0;
  if (free_flows_.empty()) {
    id = static_cast<std::uint32_t>(flows_.size());
    flows_.emplace_back();
  } else {
    id = free_flows_.back();
    free_flows_.pop_back();
  }
  const auto count = static_cast<std::uint32_t>(path.size());
  Flow& flow = flows_[id];
  flow.rate = 0;
  flow.count = count;
  flow.first = take_pool(count);
  for (std::uint32_t hop = 0; hop < count; ++hop) {
    Link& link = links_[path[hop]];
    pool_[flow.first + hop] = path[hop];
    places_[flow.first + hop] = static_cast<std::uint32_t>(link.flows.size());
    link.flows.push_back({id, hop});
    // The new flow gets at least an equal share of each link, so nobody slower than that can be touched.
    frozen_below_ = std::min(frozen_below_, link.capacity / static_cast<double>(link.flows.size()));
    mark(path[hop]);
  }
  return id;
}

void Sharing::remove(std::uint32_t id) {
  Flow& flow = flows_[id];
  frozen_below_ = std::min(frozen_below_, flow.rate);
  for (std::uint32_t hop = 0; hop < flow.count; ++hop) {
    const std::uint32_t on = pool_[flow.first + hop];
    std::vector<Slot>& list = links_[on].flows;
    const std::uint32_t place = places_[flow.first + hop];
    const Slot moved = list.back();
    list[place] = moved;
    places_[flows_[moved.flow].first + moved.hop] = place;
    list.pop_back();
    if (!list.empty()) mark(on);
  }
  if (free_pool_.size() <= flow.count) free_pool_.resize(flow.count + 1);
  free_pool_[flow.count].push_back(flow.first);
  free_flows_.push_back(id);
}

void Sharing::collect_link(std::uint32_t id) {
  Link& link = links_[id];
  link.left = link.capacity;
  link.open = 0;
  link.fixing = 0;
  for (const Slot& slot : link.flows) {
    Flow& flow = flows_[slot.flow];
    if (flow.visit != visit_) {
      if (flow.rate < frozen_below_ && flow.rate > 0) {
        link.left -= flow.rate;
        continue;
      }
      flow.visit = visit_;
      flow.fixed = false;
      seen_flows_.push_back(slot.flow);
      for (std::uint32_t hop = 0; hop < flow.count; ++hop) {
        const std::uint32_t next = pool_[flow.first + hop];
        if (links_[next].visit != visit_) {
          links_[next].visit = visit_;
          seen_links_.push_back(next);
        }
      }
    }
    ++link.open;
  }
  link.left = std::max(link.left, 0.0);
}

void Sharing::collect() {
  ++visit_;
  seen_links_.clear();
  seen_flows_.clear();
  frozen_below_ *= 1 - 1e-9;  // Rounding must not freeze a flow that stands exactly at the limit.
  for (const std::uint32_t link : dirty_) {
    links_[link].dirty = false;
    if (links_[link].visit == visit_ || links_[link].flows.empty()) continue;
    links_[link].visit = visit_;
    seen_links_.push_back(link);
  }
  dirty_.clear();
  for (std::size_t i = 0; i < seen_links_.size(); ++i) collect_link(seen_links_[i]);  // Grows while it runs.
  frozen_below_ = std::numeric_limits<double>::infinity();
}

void Sharing::fix_flows(std::uint32_t id, double level) {
  touched_.clear();
  Link& link = links_[id];
  for (const Slot& slot : link.flows) {
    Flow& flow = flows_[slot.flow];
    if (flow.visit != visit_ || flow.fixed) continue;
    flow.fixed = true;
    flow.rate = level;
    const std::uint32_t* path = pool_.data() + flow.first;
    for (std::uint32_t hop = 0; hop < flow.count; ++hop) {
      if (links_[path[hop]].fixing++ == 0) touched_.push_back(path[hop]);
    }
  }
  // One subtraction per link and level, whatever the order of its flows: equal links stay equal to the bit.
  for (const std::uint32_t other : touched_) {
    Link& crossed = links_[other];
    crossed.left = std::max(0.0, crossed.left - level * crossed.fixing);
    crossed.open -= crossed.fixing;
    crossed.fixing = 0;
  }
}

void Sharing::fill() {
  const auto later = [](const Key& a, const Key& b) {
    return a.share > b.share || (a.share == b.share && a.link > b.link);
  };
  heap_.clear();
  for (const std::uint32_t id : seen_links_) {
    const Link& link = links_[id];
    if (link.open > 0) heap_.push_back({link.left / link.open, id});
  }
  std::make_heap(heap_.begin(), heap_.end(), later);
  double level = 0;
  while (!heap_.empty()) {
    const Key top = heap_.front();
    const Link& link = links_[top.link];
    std::pop_heap(heap_.begin(), heap_.end(), later);
    heap_.pop_back();
    if (link.open == 0) continue;
    const double share = link.left / link.open;
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
  std::vector<bool> live(flows_.size(), true);
  for (const std::uint32_t flow : free_flows_) live[flow] = false;
  for (std::uint32_t id = 0; id < flows_.size(); ++id) {
    if (!live[id]) continue;
    for (const std::uint32_t link : path(id)) {
      load[link] += flows_[id].rate;
      fastest[link] = std::max(fastest[link], flows_[id].rate);
    }
  }
  for (std::size_t link = 0; link < links_.size(); ++link) {
    if (load[link] > links_[link].capacity) worst = std::max(worst, load[link] / links_[link].capacity - 1);
  }
  for (std::uint32_t id = 0; id < flows_.size(); ++id) {
    if (!live[id]) continue;
    double best = std::numeric_limits<double>::infinity();  // The link that comes closest to being a bottleneck.
    for (const std::uint32_t link : path(id)) {
      const double slack = links_[link].capacity > 0 ? 1 - load[link] / links_[link].capacity : 0;
      const double slower = fastest[link] > 0 ? 1 - flows_[id].rate / fastest[link] : 0;
      best = std::min(best, std::max(slack, slower));
    }
    worst = std::max(worst, best);
  }
  return worst;
}

}  // namespace orrery::network
