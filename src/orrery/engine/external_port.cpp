// SPDX-License-Identifier: Apache-2.0
#include "orrery/engine/external_port.hpp"

#include <pthread.h>

namespace orrery::engine {
namespace {

Slot& checked(ExternalRegion& region, std::uint32_t slot) {
  if (slot >= region.size()) throw std::logic_error{"the region has no such slot"};
  return region.slot(slot);
}

/// How often a sleeping program makes sure that its host was not killed. Ordinary ends wake it at once.
constexpr timespec kHeartbeat{.tv_sec = 2, .tv_nsec = 0};

/// How many forks lie between this process and the one that first asked. Cheaper than asking for the process's id,
/// which is a system call.
std::uint32_t generation() {
  static std::atomic<std::uint32_t> forks{0};
  [[maybe_unused]] static const int is_registered =
      ::pthread_atfork(nullptr, nullptr, [] { forks.fetch_add(1, std::memory_order_relaxed); });
  return forks.load(std::memory_order_relaxed);
}

}  // namespace

ExternalPort::ExternalPort(ExternalRegion& region, std::uint32_t slot)
    : region_{region}, slot_{checked(region, slot)}, index_{slot}, owner_{generation()} {}

Time ExternalPort::start() {
  wait();
  return clock_;
}

void ExternalPort::advance(Duration duration) {
  if (duration < Duration::zero()) throw std::logic_error{"a process cannot go back in time"};
  clock_ = saturating_add(clock_, duration);
}

std::int64_t ExternalPort::call(const Call& call, bool is_urgent) {
  if (slot_.load() == SlotState::kRunning) slot_.call = call;
  hand_over(SlotState::kWaiting, is_urgent);
  wait();
  return slot_.answer;
}

void ExternalPort::finish() { hand_over(SlotState::kFinished, true); }

void ExternalPort::hand_over(SlotState next, bool is_urgent) {
  // A child that the program forked (a data loader, say) shares this memory but is not the process we host.
  if (generation() != owner_) {
    throw std::logic_error{"a port is used by a process that it does not belong to"};
  }
  SlotState state = slot_.load();
  if (state == SlotState::kRunning) {
    slot_.clock = count_ps(clock_);
    if (slot_.exchange(state, next)) {
      region_.post(index_, is_urgent);
      return;
    }
  }
  if (state == SlotState::kClosed) throw PortClosed{};
  throw std::logic_error{"a port is used before its start or after its end"};
}

void ExternalPort::wait() {
  for (;;) {
    SlotState state = slot_.load();
    if (state == SlotState::kRunning) break;
    if (state == SlotState::kClosed) throw PortClosed{};
    if (state == SlotState::kFinished) throw std::logic_error{"a port is used after its end"};
    if (state == SlotState::kWaiting && !slot_.exchange(state, SlotState::kAsleep)) continue;
    constexpr auto kAsleep = static_cast<std::uint32_t>(SlotState::kAsleep);
    if (!futex_wait(slot_.state, kAsleep, &kHeartbeat) && !region_.has_host()) throw PortClosed{};
  }
  clock_ = Time{Duration{slot_.clock}};
}

}  // namespace orrery::engine
