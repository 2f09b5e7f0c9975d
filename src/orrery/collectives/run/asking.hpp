// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Gloo sends a message when its receiver has asked for it, over the one connection of the two. In all_to_all and
/// all_gather a rank sends before it asks. So when one of two ranks comes later, the other's question has arrived by
/// then: its message leaves at once, and what it asks itself travels behind it. The two directions follow each other
/// instead of sharing the time. Ranks that come together ask before either can send.
#include <cstdint>
#include <deque>
#include <unordered_map>
#include <utility>
#include <vector>

#include "orrery/base/units.hpp"
#include "orrery/collectives/schedule.hpp"

namespace orrery::collectives {

/// Of one run. Channels go in pairs: `back` is the one in the other direction.
class Asking {
 public:
  /// `notice`: how long a question takes; whoever comes later by no more than that comes together.
  Asking(Duration notice, std::size_t participants, std::size_t channels)
      : notice_{notice}, called_(participants), has_gone_(participants), under_way_(channels) {}

  void call(Rank rank, Time at) { called_[rank] = at; }
  void go(Rank rank) { has_gone_[rank] = true; }

  /// Whether a message must wait, now that it could be sent.
  [[nodiscard]] bool must_wait(Rank from, Rank to, std::uint32_t back) const {
    return !has_gone_[to] || goes_first(to, from, back);
  }
  /// Whether what `from` sends on `channel` goes before what `to` sends to it.
  [[nodiscard]] bool goes_first(Rank from, Rank to, std::uint32_t channel) const {
    return called_[from] - called_[to] > notice_ && under_way_[channel] > 0;
  }

  void sent(std::uint32_t channel) { ++under_way_[channel]; }
  void delivered(std::uint32_t channel) { --under_way_[channel]; }
  /// Messages that wait, in order.
  void hold(std::uint32_t channel, Bytes payload) { held_[channel].push_back(payload); }
  /// Takes the first, or all of them.
  [[nodiscard]] std::deque<Bytes> take(std::uint32_t channel, bool all) {
    const auto found = held_.find(channel);
    if (found == held_.end()) return {};
    std::deque<Bytes> taken;
    if (all || found->second.size() == 1) {
      taken = std::move(found->second);
      held_.erase(found);
    } else {
      taken.push_back(found->second.front());
      found->second.pop_front();
    }
    return taken;
  }

 private:
  Duration notice_;
  std::vector<Time> called_;
  std::vector<bool> has_gone_;
  std::vector<std::uint32_t> under_way_;
  std::unordered_map<std::uint32_t, std::deque<Bytes>> held_;  // Few of many channels.
};

}  // namespace orrery::collectives
