// SPDX-License-Identifier: Apache-2.0
// The queues of a device: what the program does with them, on the thread that is the rank's.
#include "orrery/live/rank/guarded.hpp"
#include "orrery/live/rank/interpose.hpp"
#include "orrery/live/rank/session.hpp"

using namespace orrery::live;

namespace {

bool has_no_data = false;
thread_local constinit int kernel_depth = 0;

/// Null where nothing is charged: no rank, no queues, another thread.
QueueClock* own_queues() {
  Session* const self = session();
  return self == nullptr || !interpose_is_rank_thread() ? nullptr : self->queues();
}

}  // namespace

void orrery_queues_begin(int is_fake) {
  if (session() == nullptr) return;
  has_no_data = is_fake != 0;
  const std::scoped_lock lock{session()->mutex()};
  session()->begin_queues();
}

void orrery_kernel_begin(void) { ++kernel_depth; }
void orrery_kernel_end(void) { --kernel_depth; }
bool orrery::live::is_in_kernel() { return kernel_depth > 0; }

int orrery_is_fake(void) { return has_no_data ? 1 : 0; }

orrery_memory* orrery_memory_page(void) { return session() == nullptr ? nullptr : &session()->memory(); }

int orrery_has_queues(void) { return session() != nullptr && session()->queues() != nullptr ? 1 : 0; }

void orrery_queue_select(uint64_t queue) {
  QueueClock* const queues = own_queues();
  if (queues == nullptr || queues->present() == queue) return;
  guarded([&] {
    const std::scoped_lock lock{session()->mutex()};
    session()->pass(Point::kQueue, true);  // What was computed so far belongs to the other queue.
    queues->select(queue);
    return 0;
  });
}

void orrery_queue_work(void) {
  if (session() != nullptr) session()->meter().operator_on_device();
}

int64_t orrery_queue_end(uint64_t queue) {
  QueueClock* const queues = own_queues();
  if (queues == nullptr) return session() == nullptr ? 0 : session()->last_clock();
  std::int64_t end = 0;
  guarded([&] {
    const std::scoped_lock lock{session()->mutex()};
    session()->pass(Point::kQueue, true);
    const std::uint64_t which = queue == ORRERY_QUEUE_PRESENT ? queues->present() : queue;
    end = which == ORRERY_QUEUE_ALL ? queues->end_of_all() : queues->end_of(which);
    return 0;
  });
  return end;
}

void orrery_queue_await(uint64_t queue, int64_t until) {
  QueueClock* const queues = own_queues();
  if (queues == nullptr) return;
  guarded([&] {
    const std::scoped_lock lock{session()->mutex()};
    const std::uint64_t which = queue == ORRERY_QUEUE_PRESENT ? queues->present() : queue;
    // Charges first: what the queue has so far does not wait.
    if (until > queues->end_of(which)) session()->pass(Point::kQueue, true);
    queues->await(which, until);
    return 0;
  });
}

void orrery_queue_reach(int64_t until) {
  if (own_queues() == nullptr) return;
  guarded([&] {
    const std::scoped_lock lock{session()->mutex()};
    session()->reach(until);
    return 0;
  });
}
