// SPDX-License-Identifier: Apache-2.0
// Posting operations, waiting for them, and handing over what they carry.
#include <cstring>
#include <new>

#include "orrery/base/digest.hpp"
#include "orrery/engine/futex.hpp"
#include "orrery/live/rank/guarded.hpp"
#include "orrery/live/rank/session.hpp"

using namespace orrery;
using namespace orrery::live;

namespace {

Table& table_of(const orrery_op& op) { return session()->arena().get<Table>(op.table); }

/// Everything that belongs to a collective whose last member has taken its result.
void free_collective(Table& table) {
  Arena& arena = session()->arena();
  for (std::uint32_t i = 0; i < table.members; ++i) {
    if (table.operations[i] != 0) ArenaHeap::release(arena.at(table.operations[i]));
  }
  if (const std::int64_t result = table.result.load(std::memory_order_acquire); result != 0) {
    ArenaHeap::release(arena.at(result));
  }
  ArenaHeap::release(&table);
}

enum TableState : std::uint32_t { kNobody, kComputing, kAwaited, kReady };

}  // namespace

orrery_op* orrery_op_new(uint32_t kind, size_t size_count, size_t payload_bytes) {
  orrery_op* op = nullptr;
  guarded([&] {
    if (session() == nullptr) return refuse(ENOTCONN, "no rank");
    Session& self = *session();
    const std::scoped_lock lock{self.mutex()};
    const std::size_t head = sizeof(orrery_op) + size_count * sizeof(std::int64_t);
    op = static_cast<orrery_op*>(self.heap().allocate(head + payload_bytes, head));
    op->kind = kind;
    op->handle = self.next_handle();
    op->size_count = static_cast<std::uint32_t>(size_count);
    op->payload_bytes = static_cast<std::int64_t>(payload_bytes);
    op->done_ps = -1;
    op->peer = -1;
    op->source = -1;
    // A message is read by its receiver, and may be gone before its sender looks again.
    if (kind == ORRERY_SEND) ArenaHeap::block_of(op).users.store(2, std::memory_order_relaxed);
    return 0;
  });
  return op;
}

int64_t* orrery_op_sizes(orrery_op* op) { return reinterpret_cast<int64_t*>(op + 1); }
void* orrery_op_payload(orrery_op* op) { return orrery_op_sizes(op) + op->size_count; }

int orrery_post(orrery_op* op) {
  return guarded([&] {
    Session& self = *session();
    const std::scoped_lock lock{self.mutex()};
    self.adopt_thread();
    // Whoever waits at once posts and waits at one moment: one look at the clocks instead of two.
    if (op->is_async != 0) self.pass(Point::kPost, true);
    self.post(*op);
    return 0;
  });
}

uint64_t orrery_group(const char* name, const int32_t* ranks, size_t count) {
  Digest digest;
  digest.add(std::string_view{name});
  for (std::size_t i = 0; i < count; ++i) digest.add(static_cast<std::uint64_t>(ranks[i]));
  std::uint64_t key = 0;
  guarded([&] {
    Session& self = *session();
    const std::scoped_lock lock{self.mutex()};
    digest.add(self.generation(digest.value())++);
    key = digest.value();
    orrery_op* const op = orrery_op_new(ORRERY_NEW_GROUP, 0, count * sizeof(std::int32_t));
    if (op == nullptr) throw std::bad_alloc{};
    op->group = key;
    std::strncpy(op->name, name, sizeof op->name - 1);
    std::memcpy(orrery_op_payload(op), ranks, count * sizeof(std::int32_t));
    return orrery_post(op);
  });
  return key;
}

int orrery_mark(void) {
  static bool has_marked = false;
  if (session() == nullptr || has_marked) return 0;
  has_marked = true;
  orrery_op* const op = orrery_op_new(ORRERY_MARK, 0, 0);
  if (op == nullptr) return -1;
  op->is_async = 1;  // Now, not at the next point.
  op->sequence = static_cast<std::uint64_t>(session()->touched_ps());
  return orrery_post(op);
}

int orrery_awaited(uint64_t handle) {
  if (session() == nullptr || !session()->is_captured()) return 0;
  orrery_op* const op = orrery_op_new(ORRERY_AWAITED, 0, 0);
  if (op == nullptr) return -1;
  op->sequence = handle;
  op->is_async = 1;  // As of the last point: a point of its own would make another run of it.
  return guarded([&] {
    Session& self = *session();
    const std::scoped_lock lock{self.mutex()};
    self.post(*op);
    return 0;
  });
}

int orrery_wait_any(orrery_op* const* ops, size_t count, int64_t timeout_ps) {
  return guarded([&] {
    Session& self = *session();
    const std::scoped_lock lock{self.mutex()};
    self.adopt_thread();
    self.pass(Point::kRequest);
    WaitSet& set = self.wait_set(count);
    set.timeout_ps = timeout_ps;
    set.count = static_cast<std::uint32_t>(count);
    bool is_device = true;
    for (std::size_t i = 0; i < count; ++i) {
      set.handles[i] = ops[i]->handle;
      is_device = is_device && ops[i]->on_device != 0;
    }
    const std::int64_t answer = self.request(Request::kWait, self.arena().offset_of(&set), is_device);
    self.resume_computing();
    if (answer == kTimedOut) return refuse(ETIMEDOUT, "timed out");
    return static_cast<int>(answer);
  });
}

int orrery_test(orrery_op* op) {
  if (orrery_has_ended(op) != 0) return 1;
  return guarded([&] {
    Session& self = *session();
    const std::scoped_lock lock{self.mutex()};
    self.adopt_thread();
    self.pass(Point::kRequest);
    const std::int64_t answer = self.request(Request::kTest, static_cast<std::int64_t>(op->handle));
    self.resume_computing();
    return static_cast<int>(answer);
  });
}

int orrery_has_ended(const orrery_op* op) { return op->done_ps >= 0 ? 1 : 0; }

orrery_op* orrery_member_op(const orrery_op* op, size_t member) {
  const std::int64_t offset = table_of(*op).operations[member];
  return offset == 0 ? nullptr : &session()->arena().get<orrery_op>(offset);
}

orrery_op* orrery_sender_op(const orrery_op* op) { return &session()->arena().get<orrery_op>(op->match); }

void* orrery_result(const orrery_op* op) {
  Table& table = table_of(*op);
  for (;;) {
    std::uint32_t state = kNobody;
    if (table.state.compare_exchange_strong(state, kComputing, std::memory_order_acq_rel)) return nullptr;
    if (state == kReady) return session()->arena().at(table.result.load(std::memory_order_acquire));
    // Another member computes it at this moment, on another core.
    constexpr timespec kLook{.tv_sec = 0, .tv_nsec = 1'000'000};
    if (state == kComputing && !table.state.compare_exchange_strong(state, kAwaited)) continue;
    engine::futex_wait(table.state, kAwaited, &kLook);
  }
}

void* orrery_result_new(const orrery_op* op, size_t bytes) {
  void* memory = nullptr;
  guarded([&] {
    Session& self = *session();
    const std::scoped_lock lock{self.mutex()};
    memory = self.heap().allocate(bytes, 0);
    table_of(*op).result.store(self.arena().offset_of(memory), std::memory_order_release);
    return 0;
  });
  return memory;
}

void orrery_result_ready(const orrery_op* op) {
  Table& table = table_of(*op);
  if (table.state.exchange(kReady, std::memory_order_acq_rel) == kAwaited) engine::futex_wake_all(table.state);
}

void orrery_touched(uint64_t pages, int64_t scratch_bytes) {
  if (session() == nullptr) return;
  guarded([&] {
    Session& self = *session();
    const std::scoped_lock lock{self.mutex()};
    self.touch(pages, scratch_bytes);
    return 0;
  });
}

void orrery_op_release(orrery_op* op) {
  if (op->failed != 0) return;  // Others may still read it; failures are few.
  if (op->table != 0) {
    Table& table = table_of(*op);
    if (table.readers.fetch_sub(1, std::memory_order_acq_rel) == 1) free_collective(table);
    return;
  }
  if (op->match != 0) ArenaHeap::release(orrery_sender_op(op));
  ArenaHeap::release(op);
}
