// SPDX-License-Identifier: Apache-2.0
#include "orrery/engine/external_pool.hpp"

#include <algorithm>

#include "orrery/base/check.hpp"

namespace orrery::engine {
ExternalPool::ExternalPool(std::uint32_t slots, std::uint32_t concurrency, bool is_passing_on)
    : region_{ExternalRegion::create(slots)},
      is_passing_on_{is_passing_on},
      free_places_{concurrency},
      is_dropped_(slots, false) {
  ORRERY_CHECK(concurrency > 0, "nobody outside could ever run");
  if (is_passing_on) region_.pass_places_on(concurrency);
}

void ExternalPool::resume(std::uint32_t slot, Time now, Time bound, std::int64_t answer) {
  ORRERY_CHECK(bound >= now, "bound {} ps before the time of resumption", count_ps(bound));
  region_.slot(slot).clock = count_ps(now);
  region_.slot(slot).answer = answer;
  // It runs, however far in the future it may ask: kTimeMax would say that nobody does.
  running_.push_back({slot, std::min(bound, kTimeMax - Duration{1})});
  earliest_ = std::min(earliest_, running_.back().bound);
  if (is_passing_on_) {
    region_.queue(slot);
  } else {
    next_.push_back(slot);
  }
  if (bound > now) fill_places();
}

void ExternalPool::fill_places() {
  if (is_passing_on_) return region_.fill_places();
  for (; free_places_ > 0 && !next_.empty(); --free_places_) {
    set_state(region_.slot(next_.front()), SlotState::kRunning);
    next_.pop_front();
  }
}

Time ExternalPool::earliest() const {
  if (is_stale_) {
    earliest_ = kTimeMax;
    for (const Running& running : running_) earliest_ = std::min(earliest_, running.bound);
    is_stale_ = false;
  }
  return earliest_;
}

void ExternalPool::remove(std::uint32_t slot) {
  const auto found = std::ranges::find(running_, slot, &Running::slot);
  ORRERY_CHECK(found != running_.end(), "slot {} asks although nobody runs there", slot);
  *found = running_.back();
  running_.pop_back();
  is_stale_ = true;
}

void ExternalPool::drop(std::uint32_t slot) {
  ORRERY_CHECK(!is_passing_on_, "a program that is gone cannot pass its place on");
  is_dropped_[slot] = true;
  if (std::ranges::find(running_, slot, &Running::slot) == running_.end()) return;
  remove(slot);
  if (std::erase(next_, slot) == 0) ++free_places_;
  fill_places();
}

void ExternalPool::wait(std::vector<Request>& requests) {
  fill_places();
  region_.listen();
  posted_.clear();
  region_.collect(posted_);
  for (const std::uint32_t index : posted_) {
    if (is_dropped_[index]) continue;
    const Slot& slot = region_.slot(index);
    remove(index);
    ++free_places_;
    requests.push_back({.slot = index,
                        .is_end = slot.load() == SlotState::kFinished,
                        .clock = Time{Duration{slot.clock}},
                        .call = slot.call});
  }
  fill_places();
}

void ExternalPool::close() {
  for (std::uint32_t index = 0; index < region_.size(); ++index) {
    Slot& slot = region_.slot(index);
    SlotState state = slot.load();
    while (state != SlotState::kFinished && state != SlotState::kClosed) {
      const bool is_asleep = state == SlotState::kAsleep;
      if (!slot.exchange(state, SlotState::kClosed)) continue;
      if (is_asleep) futex_wake(slot.state);
      break;
    }
  }
}

bool ExternalPool::has_finished(std::uint32_t slot) const {
  return region_.slot(slot).load() == SlotState::kFinished;
}

}  // namespace orrery::engine
