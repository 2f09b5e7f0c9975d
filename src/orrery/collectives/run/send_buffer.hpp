// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a kernel takes from a sender, of one connection: the sender has done with a message when no more bytes than
/// find room, of it and of those before it, are still under way. So messages go in pieces, which tell how far they are.
#include <algorithm>
#include <deque>
#include <optional>
#include <utility>

#include "orrery/base/units.hpp"
#include "orrery/collectives/schedule.hpp"

namespace orrery::collectives {

class CollectiveRun;

class SendBuffer {
 public:
  struct Sender {
    CollectiveRun* run;
    Rank rank;
  };
  /// The largest piece: small enough to see when the rest of a message finds room, large enough to be few.
  [[nodiscard]] static Bytes piece(Bytes room) {
    constexpr std::int64_t kPieces = 32;
    constexpr std::int64_t kSmallest = 4096;
    return Bytes{std::max(room.count() / kPieces, kSmallest)};
  }
  /// One piece; the sender hands over those of a message at the same time.
  void send(Bytes size, bool is_last) {
    sent_ += size;
    pieces_.emplace_back(size, is_last);
  }
  /// Whether the sender has done with all that it sent; else next_done() gives it when it has.
  [[nodiscard]] bool has_done(Bytes room, Sender sender) {
    if (sent_ - arrived_ <= room) return true;
    waiting_.emplace_back(sent_ - room, sender);
    return false;
  }
  /// The oldest piece has arrived. Whether it was the last one of its message.
  bool arrive() {
    const auto [size, is_last] = pieces_.front();
    pieces_.pop_front();
    arrived_ += size;
    return is_last;
  }
  /// Takes one who has done with its message since the last arrival.
  [[nodiscard]] std::optional<Sender> next_done() {
    if (waiting_.empty() || arrived_ < waiting_.front().first) return {};
    const Sender sender = waiting_.front().second;
    waiting_.pop_front();
    return sender;
  }

 private:
  Bytes sent_;  // In all.
  Bytes arrived_;
  std::deque<std::pair<Bytes, bool>> pieces_;     // Under way.
  std::deque<std::pair<Bytes, Sender>> waiting_;  // How much has to arrive before.
};

}  // namespace orrery::collectives
