// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/rank_program.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"

namespace orrery::workload {

RankProgram::RankProgram(Rank rank, std::unique_ptr<OpSource> source, std::size_t window, OpBinder& binder)
    : rank_{rank}, source_{std::move(source)}, window_{window}, binder_{binder} {
  ORRERY_CHECK(window > 0, "a window of no operations");
}

void RankProgram::refill() {
  while (unfinished_ < window_ && load_next()) {
  }
}

bool RankProgram::grow() {
  if (is_exhausted()) return false;
  window_ *= 2;
  refill();
  return true;
}

Slot RankProgram::take_slot() {
  if (free_slots_.empty()) {
    slots_.emplace_back();
    return static_cast<Slot>(slots_.size() - 1);
  }
  const Slot slot = free_slots_.back();
  free_slots_.pop_back();
  return slot;
}

std::uint32_t RankProgram::take_edge(Slot to, std::uint32_t next) {
  if (free_edge_ == kNoSlot) {
    edges_.push_back({to, next});
    return static_cast<std::uint32_t>(edges_.size() - 1);
  }
  const std::uint32_t edge = free_edge_;
  free_edge_ = edges_[edge].next;
  edges_[edge] = {to, next};
  return edge;
}

bool RankProgram::load_next() {
  if (source_ == nullptr) return false;
  read_.clear();
  if (!source_->next(read_)) {
    source_.reset();
    return false;
  }
  const Slot slot = take_slot();
  slots_[slot] = LoadedOp{};
  LoadedOp& op = slots_[slot];
  op.id = read_.id;
  op.kind = read_.kind;
  if (finished_.contains(op.id) || !slot_of_.emplace(op.id, slot).second) {
    throw InputError{
        fmt::format("rank {}: node {} '{}': its id stands twice in the trace", rank_, read_.id, read_.name)};
  }
  ++unfinished_;
  binder_.bind(rank_, read_, op);
  if (!awaited_.empty()) {
    if (const auto found = awaited_.find(op.id); found != awaited_.end()) {
      op.dependents = found->second;
      awaited_.erase(found);
    }
  }
  for (const std::uint64_t on : read_.data_deps) add_dependency(slot, on);
  for (const std::uint64_t on : read_.control_deps) add_dependency(slot, on);
  if (op.missing == 0) set_ready(slot);
  return true;
}

void RankProgram::add_dependency(Slot slot, std::uint64_t on) {
  if (finished_.contains(on)) return;
  ++slots_[slot].missing;
  if (const auto found = slot_of_.find(on); found != slot_of_.end()) {
    LoadedOp& other = slots_[found->second];
    other.dependents = take_edge(slot, other.dependents);
    return;
  }
  const auto [place, is_new] = awaited_.emplace(on, kNoSlot);
  place->second = take_edge(slot, place->second);
}

void RankProgram::set_ready(Slot slot) {
  std::vector<Ready>& heap = ready_by_[static_cast<std::size_t>(slots_[slot].resource)];
  heap.emplace_back(slots_[slot].id, slot);
  std::ranges::push_heap(heap, std::greater{});
  ++ready_;
}

std::optional<Slot> RankProgram::take_ready(Resource resource) {
  std::vector<Ready>& heap = ready_by_[static_cast<std::size_t>(resource)];
  if (heap.empty()) return std::nullopt;
  std::ranges::pop_heap(heap, std::greater{});
  const Slot slot = heap.back().second;
  heap.pop_back();
  --ready_;
  ++running_;
  slots_[slot].is_running = true;
  return slot;
}

void RankProgram::finish(Slot slot) {
  LoadedOp& op = slots_[slot];
  op.is_running = false;
  --running_;
  --unfinished_;
  ++finished_count_;
  finished_.insert(op.id);
  slot_of_.erase(op.id);
  for (std::uint32_t edge = op.dependents; edge != kNoSlot;) {
    const Edge used = edges_[edge];
    edges_[edge].next = free_edge_;
    free_edge_ = edge;
    edge = used.next;
    if (--slots_[used.to].missing == 0) set_ready(used.to);
  }
  op.dependents = kNoSlot;
  free_slots_.push_back(slot);
  refill();
}

std::vector<Slot> RankProgram::running() const {
  std::vector<Slot> found;
  for (Slot slot = 0; slot < slots_.size(); ++slot) {
    if (slots_[slot].is_running) found.push_back(slot);
  }
  std::ranges::sort(found, {}, [this](Slot slot) { return slots_[slot].id; });
  return found;
}

std::vector<std::vector<Slot>> RankProgram::waits_for() const {
  std::vector<std::vector<Slot>> on(slots_.size());
  for (Slot slot = 0; slot < slots_.size(); ++slot) {
    for (std::uint32_t edge = slots_[slot].dependents; edge != kNoSlot; edge = edges_[edge].next) {
      on[edges_[edge].to].push_back(slot);
    }
  }
  for (std::vector<Slot>& list : on) {
    std::ranges::sort(list, {}, [this](Slot slot) { return slots_[slot].id; });
  }
  return on;
}

std::optional<RankProgram::Obstacle> RankProgram::find_obstacle() const {
  Obstacle found;
  if (!awaited_.empty()) {
    // The lowest id among those that wait, so that the report does not depend on hashing.
    bool has_one = false;
    for (const auto& [missing, first] : awaited_) {  // tidy-allow: unordered, the least of all is taken.
      for (std::uint32_t edge = first; edge != kNoSlot; edge = edges_[edge].next) {
        const std::pair candidate{slots_[edges_[edge].to].id, missing};
        if (has_one && candidate >= std::pair{found.waiting, found.missing}) continue;
        std::tie(found.waiting, found.missing) = candidate;
        has_one = true;
      }
    }
    return found;
  }
  std::vector<Slot> order;
  for (const auto& [id, slot] : slot_of_) order.push_back(slot);  // tidy-allow: unordered, sorted below.
  std::ranges::sort(order, {}, [this](Slot slot) { return slots_[slot].id; });
  const std::vector<std::vector<Slot>> on = waits_for();
  enum class Colour : std::uint8_t { kNew, kOpen, kDone };
  std::vector<Colour> colour(slots_.size(), Colour::kNew);
  struct Frame {
    Slot slot;
    std::size_t next;
  };
  for (const Slot start : order) {
    if (colour[start] != Colour::kNew) continue;
    std::vector<Frame> stack{{start, 0}};
    colour[start] = Colour::kOpen;
    while (!stack.empty()) {
      Frame& frame = stack.back();
      if (frame.next == on[frame.slot].size()) {
        colour[frame.slot] = Colour::kDone;
        stack.pop_back();
        continue;
      }
      const Slot target = on[frame.slot][frame.next++];
      if (colour[target] == Colour::kDone) continue;
      if (colour[target] == Colour::kNew) {
        colour[target] = Colour::kOpen;
        stack.push_back({target, 0});
        continue;
      }
      bool is_inside = false;
      for (const Frame& open : stack) {
        is_inside = is_inside || open.slot == target;
        if (is_inside) found.cycle.push_back(slots_[open.slot].id);
      }
      return found;
    }
  }
  return std::nullopt;
}

}  // namespace orrery::workload
