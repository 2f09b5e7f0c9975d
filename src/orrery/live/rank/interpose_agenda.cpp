// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/interpose_agenda.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "orrery/live/rank/interpose_state.hpp"
#include "orrery/live/rank/interpose_threads.hpp"

namespace orrery::live {

struct AgendaSlot {
  std::atomic<std::int64_t> deadline_ps = kForever;  ///< kForever: free.
  std::atomic<std::uint32_t> wakes = 0;
};

namespace {

constinit AgendaSlot slots[256];
constinit std::atomic<int> entries = 0;

std::int64_t published() { return interpose_state.published_ps.load(std::memory_order_acquire); }

void futex(std::atomic<std::uint32_t>& word, int operation, std::uint32_t value, const timespec* timeout) {
  const int saved = errno;
  ::syscall(SYS_futex, &word, operation | FUTEX_PRIVATE_FLAG, value, timeout, nullptr, 0);
  errno = saved;
}

}  // namespace

AgendaEntry::AgendaEntry(std::int64_t deadline_ps) : deadline_ps_{deadline_ps}, slot_{nullptr} {
  for (AgendaSlot& slot : slots) {
    std::int64_t free = kForever;
    if (!slot.deadline_ps.compare_exchange_strong(free, deadline_ps)) continue;
    slot_ = &slot;
    ++entries;
    return;
  }
}

bool AgendaEntry::is_due() const { return published() >= deadline_ps_; }

void AgendaEntry::wait(std::int64_t real_ns) {
  const timespec timeout = to_timespec(real_ns);
  if (slot_ == nullptr) {
    std::atomic<std::uint32_t> nobody = 0;
    futex(nobody, FUTEX_WAIT, 0, &timeout);
    return;
  }
  const std::uint32_t seen = slot_->wakes.load();
  if (!is_due()) futex(slot_->wakes, FUTEX_WAIT, seen, &timeout);
}

void AgendaEntry::remove() {
  if (slot_ == nullptr) return;
  --entries;
  slot_->deadline_ps.store(kForever);
  slot_ = nullptr;
}

std::int64_t agenda_earliest() {
  std::int64_t earliest = kForever;
  if (entries.load() == 0) return earliest;
  const std::int64_t now = published();
  for (const AgendaSlot& slot : slots) {
    const std::int64_t deadline = slot.deadline_ps.load();
    if (deadline > now) earliest = std::min(earliest, deadline);
  }
  return earliest;
}

bool agenda_has_due() {
  if (entries.load() == 0) return false;
  const std::int64_t now = published();
  return std::any_of(std::begin(slots), std::end(slots),
                     [now](const AgendaSlot& slot) { return slot.deadline_ps.load() <= now; });
}

void agenda_wake() {
  if (entries.load() == 0) return;
  const std::int64_t now = published();
  for (AgendaSlot& slot : slots) {
    if (slot.deadline_ps.load() > now) continue;
    ++slot.wakes;
    futex(slot.wakes, FUTEX_WAKE, 1, nullptr);
  }
}

void agenda_nudge() {
  if (entries.load() == 0) return;
  for (AgendaSlot& slot : slots) {
    if (slot.deadline_ps.load() == kForever) continue;
    ++slot.wakes;
    futex(slot.wakes, FUTEX_WAKE, 1, nullptr);
  }
}

void agenda_clear() {
  for (AgendaSlot& slot : slots) slot.deadline_ps.store(kForever);
  entries.store(0);
}

bool take_over_if_stuck() {
  InterposeThread& self = interpose_thread;
  const std::int64_t now = real_now();
  if (self.depth > 0 || now - self.looked_at < kLookNs) return false;
  self.looked_at = now;
  const pid_t rank = interpose_state.rank_tid.load();
  const std::int64_t cpu = interpose_state.attending.load() > 0 ? kForever : cpu_of(rank);
  const bool is_gone = cpu == -1;
  const bool is_stuck = is_gone || (cpu != kForever && cpu == self.seen_cpu && is_asleep(rank));
  self.seen_cpu = is_stuck || cpu == kForever ? -2 : cpu;
  if (!is_stuck) return false;
  interpose_state.is_borrowed.store(!self.is_home);
  if (!is_gone) interpose_state.is_at_real_pace.store(!is_rank_yielding());
  if (is_gone && self.is_home) interpose_state.is_at_real_pace.store(false);
  interpose_take();
  return true;
}

}  // namespace orrery::live
