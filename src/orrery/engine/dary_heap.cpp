// SPDX-License-Identifier: Apache-2.0
// Implicit four-ary heap on time alone: shallow, and the four children share a cache line or two.
#include <limits>

#include "orrery/base/check.hpp"
#include "orrery/engine/event_queue.hpp"

namespace orrery::engine {
namespace {

class DaryHeap final : public EventQueue {
 public:
  void push(const Event& event) override {
    std::size_t hole = heap_.size();
    heap_.push_back(event);
    while (hole > 0) {
      const std::size_t parent = (hole - 1) / kArity;
      if (heap_[parent].time <= event.time) break;
      heap_[hole] = heap_[parent];
      hole = parent;
    }
    heap_[hole] = event;
  }

  void pop_instant(std::vector<Event>& out) override {
    ORRERY_CHECK(!heap_.empty(), "pop from an empty queue");
    const std::int64_t time = heap_.front().time;
    do {
      out.push_back(heap_.front());
      remove_top();
    } while (!heap_.empty() && heap_.front().time == time);
  }

  std::int64_t next_time() override {
    return heap_.empty() ? std::numeric_limits<std::int64_t>::max() : heap_.front().time;
  }

  std::size_t size() const override { return heap_.size(); }

 private:
  static constexpr std::size_t kArity = 4;

  void remove_top() {
    const Event last = heap_.back();
    heap_.pop_back();
    if (heap_.empty()) return;
    std::size_t hole = 0;
    for (;;) {
      const std::size_t first = hole * kArity + 1;
      if (first >= heap_.size()) break;
      const std::size_t end = std::min(first + kArity, heap_.size());
      std::size_t smallest = first;
      for (std::size_t child = first + 1; child < end; ++child) {
        if (heap_[child].time < heap_[smallest].time) smallest = child;
      }
      if (heap_[smallest].time >= last.time) break;
      heap_[hole] = heap_[smallest];
      hole = smallest;
    }
    heap_[hole] = last;
  }

  std::vector<Event> heap_;
};

}  // namespace

std::unique_ptr<EventQueue> make_dary_heap() { return std::make_unique<DaryHeap>(); }

}  // namespace orrery::engine
