// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Gloo sends a message when its receiver has asked for it, over the one connection of the two: nothing moves before
/// both are there. In all_to_all and all_gather a rank sends before it asks. So when one of two ranks comes later, the
/// other's question has arrived by then: its message leaves at once, and what it asks itself travels behind it. The two
/// directions follow each other instead of sharing the time, message by message. Ranks that come together ask before
/// either can send.
///
/// Following each other is for schedules where the two of each pair send each other equally many messages.
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <vector>

#include "orrery/base/units.hpp"
#include "orrery/collectives/schedule.hpp"

namespace orrery::collectives {

/// Of one run: which messages wait, and until when. Channels go in pairs: `back` is the one in the other direction.
class Asking {
 public:
  /// No channels: directions never follow each other.
  Asking(std::size_t participants, std::size_t channels)
      : ready_(participants), has_gone_(participants), sent_(channels), delivered_(channels) {}

  /// The rank can send from then on.
  void call(Rank rank, Time ready) { ready_[rank] = ready; }
  void go(Rank rank) { has_gone_[rank] = true; }
  [[nodiscard]] bool has_gone(Rank rank) const { return has_gone_[rank]; }
  void withdraw(Rank rank) {
    withdrawn_.resize(has_gone_.size());
    withdrawn_[rank] = true;
  }
  [[nodiscard]] bool has_withdrawn(Rank rank) const { return !withdrawn_.empty() && withdrawn_[rank]; }
  /// By how much `rank` comes later than `other`. Of two that have called.
  [[nodiscard]] Duration delay(Rank rank, Rank other) const { return ready_[rank] - ready_[other]; }

  /// Whether one more message on `channel` would overtake those that go first on `back`.
  [[nodiscard]] bool is_ahead(std::uint32_t channel, std::uint32_t back) const {
    return sent_[channel] >= delivered_[back];
  }
  void sent(std::uint32_t channel) {
    if (!sent_.empty()) ++sent_[channel];
  }
  void delivered(std::uint32_t channel) {
    if (!delivered_.empty()) ++delivered_[channel];
  }

  /// Messages that wait, in order.
  void hold(std::uint32_t channel, Bytes payload) { held_[channel].push_back(payload); }
  [[nodiscard]] bool holds(std::uint32_t channel) const { return !held_.empty() && held_.contains(channel); }
  /// Takes the first.
  [[nodiscard]] Bytes take(std::uint32_t channel) {
    const auto found = held_.find(channel);
    const Bytes first = found->second.front();
    found->second.pop_front();
    if (found->second.empty()) held_.erase(found);
    return first;
  }

 private:
  std::vector<Time> ready_;
  std::vector<bool> has_gone_;
  std::vector<bool> withdrawn_;  // Empty while nobody has.
  std::vector<std::uint32_t> sent_;
  std::vector<std::uint32_t> delivered_;
  std::unordered_map<std::uint32_t, std::deque<Bytes>> held_;  // Few of many channels.
};

}  // namespace orrery::collectives
