// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/trace_path.hpp"

#include <algorithm>
#include <limits>
#include <utility>

namespace orrery::app {
namespace {

constexpr std::size_t kIntervals = 1U << 20U;  // Of forgotten ids; more only when ids are scattered.

PathLength longer(const PathLength& a, const PathLength& b) {
  return {std::max(a.time, b.time), std::max(a.flops, b.flops), std::max(a.ops, b.ops)};
}

std::uint64_t saturated(std::uint64_t a, std::uint64_t b) {
  return a > std::numeric_limits<std::uint64_t>::max() - b ? std::numeric_limits<std::uint64_t>::max()
                                                           : a + b;
}

PathLength joined(const PathLength& before, const PathLength& own) {
  const Duration room = Duration::max() - before.time;
  return {own.time > room ? Duration::max() : before.time + own.time, saturated(before.flops, own.flops),
          saturated(before.ops, own.ops)};
}

}  // namespace

TracePath::TracePath(std::size_t window) : window_{window} {}

void TracePath::forget_oldest(std::uint64_t id) {
  place_of_.erase(id);
  if (forgotten_.intervals() < kIntervals) forgotten_.insert(id);
}

void TracePath::remember(std::uint64_t id, const PathLength& end) {
  std::size_t at = done_.size();
  if (at < window_) {
    done_.push_back({id, end});
  } else {
    at = oldest_;
    oldest_ = (oldest_ + 1) % window_;
    forget_oldest(done_[at].id);
    done_[at] = {id, end};
  }
  place_of_[id] = static_cast<std::uint32_t>(at);
}

bool TracePath::resolve(std::uint64_t id, PathLength& before) {
  if (const auto found = place_of_.find(id); found != place_of_.end()) {
    before = longer(before, done_[found->second].end);
    return true;
  }
  const bool is_lost = forgotten_.intervals() >= kIntervals || waiting_.size() >= window_;
  if (!is_lost && !forgotten_.contains(id)) return false;
  is_exact_ = false;
  return true;
}

void TracePath::finish_one(std::uint64_t id, const PathLength& end) {
  longest_ = longer(longest_, end);
  remember(id, end);
}

void TracePath::finish(std::uint64_t id, const PathLength& before, const PathLength& own) {
  finish_one(id, joined(before, own));
  std::vector<std::uint64_t> just_done{id};
  while (!just_done.empty() && !wanted_.empty()) {
    const std::uint64_t next = just_done.back();
    just_done.pop_back();
    const auto found = wanted_.find(next);
    if (found == wanted_.end()) continue;
    const std::vector<std::uint64_t> waiters = std::move(found->second);
    wanted_.erase(found);
    for (const std::uint64_t waiter : waiters) {
      const auto at = waiting_.find(waiter);
      if (at == waiting_.end()) continue;
      static_cast<void>(resolve(next, at->second.before));
      if (--at->second.missing > 0) continue;
      const PathLength end = joined(at->second.before, at->second.own);
      waiting_.erase(at);
      finish_one(waiter, end);
      just_done.push_back(waiter);
    }
  }
}

void TracePath::add(const workload::Op& op) {
  const PathLength own{.time = op.recorded, .flops = op.flops, .ops = 1};
  PathLength before;
  std::vector<std::uint64_t> missing;
  for (const auto* list : {&op.data_deps, &op.control_deps}) {
    for (const std::uint64_t id : *list) {
      if (!resolve(id, before)) missing.push_back(id);
    }
  }
  if (missing.empty()) return finish(op.id, before, own);
  if (waiting_.contains(op.id)) return;  // Twice the same id; trace check names it.
  waiting_[op.id] = {.own = own, .before = before, .missing = missing.size()};
  for (const std::uint64_t id : missing) wanted_[id].push_back(op.id);
}

}  // namespace orrery::app
