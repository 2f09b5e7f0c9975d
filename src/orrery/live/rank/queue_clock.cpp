// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/queue_clock.hpp"

#include <algorithm>

namespace orrery::live {

std::int64_t QueueClock::end_of(std::uint64_t queue) const {
  const auto found = ends_.find(queue);
  return found == ends_.end() ? host_ : std::max(host_, found->second);
}

std::int64_t QueueClock::end_of_all() const {
  std::int64_t last = host_;
  for (const auto& [queue, end] : ends_) last = std::max(last, end);
  return last;
}

std::int64_t QueueClock::ready() const { return end_of(present_); }

void QueueClock::launch(std::int64_t host, std::int64_t device) {
  host_ += host;
  if (device > 0) ends_[present_] = ready() + device;
}

void QueueClock::charge(std::int64_t host, std::int64_t device) {
  constexpr std::uint64_t kStreamBits = 0xffffffff;
  if ((present_ & kStreamBits) != 0) return launch(host, device);
  const std::int64_t before = ready();
  if (device > 0 || before > host_) ends_[present_] = before + host + device;
  host_ += host;
}

void QueueClock::await(std::uint64_t queue, std::int64_t until) {
  std::int64_t& end = ends_[queue];
  end = std::max(end, until);
}

void QueueClock::reach(std::int64_t until) { host_ = std::max(host_, until); }

}  // namespace orrery::live
