// SPDX-License-Identifier: Apache-2.0
#include "orrery/engine/engine.hpp"

#include <algorithm>

#include "orrery/base/text.hpp"
#include "orrery/engine/deadlock.hpp"

namespace orrery::engine {

Engine::Engine(const EngineOptions& options)
    : queue_{options.queue == QueueKind::kRadix ? make_radix_heap() : make_dary_heap()},
      grow_{options.queue == QueueKind::kAuto},
      deadlines_{make_dary_heap()},
      rounds_limit_{options.rounds_per_instant} {}

OriginId Engine::add_origin(std::string name) {
  ORRERY_CHECK(origins_.size() < (1U << kOriginBits), "too many origins");
  origins_.push_back({std::move(name), 0});
  return OriginId{origins_.size() - 1};
}

namespace {

/// Programs outside may compute for minutes between two events, so an interrupt is looked for here too.
void wait_for_programs(Gate& gate, const std::function<bool()>* wants_stop) {
  gate.wait();
  if (wants_stop != nullptr && (*wants_stop)()) throw Interrupted{};
}

}  // namespace

void Engine::schedule_deadline(Time at, Phase phase, OriginId origin, Handler& handler,
                               std::uint64_t payload) {
  Origin& from = origins_[origin.index()];
  ORRERY_CHECK(at > now(), "deadline of {} at {} ps is not after {} ps", from.name, count_ps(at), now_);
  if (at != kTimeMax) {
    deadlines_->push({count_ps(at), pack_order(phase, origin, from.counter++), &handler, payload});
  }
}

void Engine::grow_queue() {
  std::unique_ptr<EventQueue> larger = make_radix_heap();
  std::vector<Event> moved;
  while (queue_->size() > 0) queue_->pop_instant(moved);
  // Heaps forget the order of insertion within an instant; with it, instants come out sorted.
  std::ranges::sort(moved, {}, &Event::order);
  for (const Event& event : moved) larger->push(event);
  queue_ = std::move(larger);
  grow_ = false;
}

void Engine::execute(const Event& event) {
  constexpr std::uint64_t kInterruptEvery = 1U << 14;
  digest_.add(static_cast<std::uint64_t>(event.time) ^ (event.order * 0xD6E8FEB86659FD93ULL));
  event.handler->on_event(event.payload);
  if (++executed_ % kInterruptEvery == 0 && wants_stop_ != nullptr && (*wants_stop_)()) throw Interrupted{};
}

void Engine::run_round() {
  const auto before = [](const Event& a, const Event& b) { return a.order < b.order; };
  // Mostly sorted already: origins schedule in order and queues keep the order of insertion.
  if (current_.size() > 1 && !std::is_sorted(current_.begin(), current_.end(), before)) {
    std::sort(current_.begin(), current_.end(), before);
  }
  for (const Event& event : current_) execute(event);
  current_.clear();
}

void Engine::finish_instant() {
  for (std::uint64_t round = 0;; ++round) {
    while (gate_ != nullptr && gate_->earliest() <= now()) wait_for_programs(*gate_, wants_stop_);
    if (!later_.empty()) {
      if (round >= rounds_limit_) fail_livelock();
      current_.swap(later_);
      run_round();
      continue;
    }
    if (settlers_.empty()) return;
    std::vector<Settler*> settling;
    settling.swap(settlers_);
    for (Settler* settler : settling) {
      settler->asked_ = false;
      settler->settle();
    }
    settling.clear();
    if (settlers_.empty()) settlers_.swap(settling);  // Keep the memory.
  }
}

void Engine::set_background(Background* background) {
  ORRERY_CHECK(background == nullptr || background_ == nullptr, "two backgrounds");
  background_ = background;
}

void Engine::run_background(std::int64_t bound) {
  while (background_->has_work()) {
    const std::int64_t next = has_lone_ ? lone_.time : queue_->next_time();
    const std::int64_t limit = std::min({next, deadlines_->next_time(), bound});
    const bool is_done = background_->run_before(Time{Duration{limit}});
    if (!later_.empty() || !settlers_.empty()) {
      finish_instant();
    } else if (is_done) {
      return;
    }
    if (wants_stop_ != nullptr && (*wants_stop_)()) throw Interrupted{};
  }
}

bool Engine::next_instant() {
  std::int64_t next = 0;
  for (;;) {
    const std::int64_t bound = gate_ == nullptr ? count_ps(kTimeMax) : count_ps(gate_->earliest());
    if (background_ != nullptr) run_background(bound);
    flush_lone();
    next = queue_->next_time();
    const std::int64_t soonest = held_ > 0 ? std::min(next, deadlines_->next_time()) : next;
    if (bound == count_ps(kTimeMax) || bound > soonest) break;
    wait_for_programs(*gate_, wants_stop_);
  }
  const bool awaits_deadline = held_ > 0 && deadlines_->size() > 0;
  if (pending_ == 0 && !awaits_deadline && (background_ == nullptr || !background_->has_work())) return false;
  const std::int64_t deadline = deadlines_->next_time();
  now_ = std::min(next, deadline);
  if (next == now_) {
    queue_->pop_instant(current_);
    pending_ -= current_.size();
  }
  if (deadline == now_) deadlines_->pop_instant(current_);
  return true;
}

void Engine::run() {
  finish_instant();  // What was scheduled at time zero.
  for (;;) {
    if (has_lone_ && gate_ == nullptr && deadlines_->size() == 0 && background_ == nullptr) {
      has_lone_ = false;
      now_ = lone_.time;
      execute(Event{lone_});  // A copy: the handler may schedule the next one.
    } else if (next_instant()) {
      run_round();
    } else {
      break;
    }
    // Mostly nothing is left to do at this time.
    if (!later_.empty() || !settlers_.empty() || gate_ != nullptr) finish_instant();
  }
  if (!is_dismissed_) check_deadlock();
}

void Engine::fail_livelock() const {
  std::vector<std::string> names;
  for (const Event& event : later_) {
    const std::string& name = origin_name(origin_of(event));
    if (std::ranges::find(names, name) == names.end()) names.push_back(name);
    constexpr std::size_t kShown = 10;
    if (names.size() == kShown) break;
  }
  throw SimulationError{fmt::format("livelock at {}: {} rounds without the clock moving; still active: {}",
                                    to_text(now().time_since_epoch()), rounds_limit_, join(names, ", "))};
}

void Engine::check_deadlock() const {
  std::vector<Blocked> blocked;
  for (const Watch* watch : watches_) watch->report_blocked(blocked);
  if (!blocked.empty()) throw SimulationError{describe_deadlock(now(), blocked)};
}

}  // namespace orrery::engine
