// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a collective run tells the timeline. Exists only while somebody observes.
#include <cstdint>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "orrery/engine/observer.hpp"

namespace orrery::collectives {

class RunTrace {
 public:
  /// `group` is of the participants' tracks.
  RunTrace(engine::Observer& observer, std::size_t channels, std::string group)
      : observer_{observer}, group_{std::move(group)}, sent_(channels) {}

  /// A message left on its way to `channel`.
  void sent(std::uint32_t channel, Time at) { sent_[channel].push_back(at); }
  /// The oldest message to `channel` arrived: draws an arrow between the two ranks' tracks and counts it.
  void arrived(std::uint32_t channel, const std::string& from, const std::string& to, Time at) {
    const engine::TrackId target = track(to);
    observer_.flow(track(from), sent_[channel].front(), target, at);
    sent_[channel].pop_front();
    if (target.index() >= received_.size()) received_.resize(target.index() + 1);
    observer_.counter(target, "messages received", at, static_cast<double>(++received_[target.index()]));
  }
  void waited(const std::string& who, const std::string& what, Time begin, Time end) {
    if (begin < end) observer_.span(track(who), what, begin, end, "");
  }
  void done(const std::string& who, const std::string& name, Time begin, Time end) {
    observer_.span(track(who), name, begin, end, "");
  }

 private:
  engine::TrackId track(const std::string& who) { return observer_.track(group_, who); }
  engine::Observer& observer_;
  std::string group_;
  std::vector<std::uint64_t> received_;  // By track.
  std::vector<std::deque<Time>> sent_;   // Per channel, oldest first: messages of a channel arrive in order.
};

}  // namespace orrery::collectives
