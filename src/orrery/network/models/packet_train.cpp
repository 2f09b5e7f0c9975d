// SPDX-License-Identifier: Apache-2.0
// A message alone on its links is a train: n packets that nothing comes between. With T(i) the time to send a full
// packet on its i-th link, c(i) the time from the start of sending there until the next link may send, and M(i) the
// largest of T(0) .. T(i), full packet k starts on link i at
//
//     S(i, k) = start + c(0) + ... + c(i-1) + k M(i)
//
// (induction over i and k of "when it is there and the one before it has left"), and the shorter last packet follows
// from that link by link. So the end is known at once, and it costs one event. When somebody else sends over one of its
// links, the train is broken: the message is run packet by packet, by the same code as any other, up to that moment.
#include <algorithm>

#include "orrery/network/models/packet_net.hpp"

namespace orrery::network {

using namespace detail;

void PacketNet::claim(const Live& message, std::int32_t by) {
  for_each_link(message, [&](std::uint32_t link) { more_[link].users += static_cast<std::uint32_t>(by); });
}

bool PacketNet::try_train(std::uint32_t id) {
  Live& live = messages_[id];
  if (!spec_.trains || spec_.ack_load || (is_spraying_ && sprays(live.route).size() > 1)) return false;
  bool is_alone = true;
  for_each_hop(live.first, [&](std::uint32_t link) {
    is_alone = is_alone && more_[link].users == 1 && !ports_[link].is_down && ports_[link].free <= live.start;
  });
  if (!is_alone || !stays_alone(live)) return false;
  for_each_hop(live.first, [&](std::uint32_t link) { more_[link].train = id; });
  live.state = MessageState::kTrain;
  ++trains_;
  deliver_at(id, train_end(live, false) + (is_acknowledged_ ? live.news_delay : 0));
  return true;
}

/// Nothing that holds senders or ports back would ever take effect: no queue grows and the window is wide enough.
bool PacketNet::stays_alone(const Live& message) const {
  if (control_ == Control::kNone && loss_ == Loss::kNone) return true;
  const Port& first = ports_[pool_[message.first] & ~kLastHop];
  std::int64_t there = 0;
  bool is_even = true;
  for_each_hop(message.first, [&](std::uint32_t link) {
    const Port& port = ports_[link];
    there += port.latency + port.full_time;
    is_even = is_even && port.full_time <= first.full_time && !port.is_paused;
    if (loss_ == Loss::kDrop) is_even = is_even && more_[link].drop_wait >= 2 * port.full_time;
    if (loss_ == Loss::kCredit) {
      const std::int64_t round_trip = 2 * (port.latency + 2 * first.full_time);
      const std::int64_t packets = div_ceil(round_trip, std::max<std::int64_t>(1, port.full_time)) + 2;
      is_even = is_even && queues_[link].credit >= packets * full_bytes_ && queues_[link].credit == buffer_;
    }
  });
  if (loss_ == Loss::kPfc) is_even = is_even && spec_.pause_at.count() >= 4 * std::int64_t{full_bytes_};
  const std::int64_t round_trip = there + message.news_delay;
  if (goes_back_) is_even = is_even && 2 * round_trip < count_ps(spec_.timeout);
  if (control_ == Control::kNone) return is_even;
  const bool is_wide = message.window == message.packets ||
                       message.window > div_ceil(round_trip, std::max<std::int64_t>(1, first.full_time));
  return is_even && is_wide;
}

/// When its last byte is there; `counts` adds its packets to the ports.
std::int64_t PacketNet::train_end(const Live& message, bool counts) {
  const std::int64_t full = message.packets - 1;  // Full packets before the last one.
  std::int64_t full_start = message.start;        // S(i, 0).
  std::int64_t pace = 0;                          // M(i).
  std::int64_t last_ready = message.start;        // The last packet is at link i.
  for (std::uint32_t pos = message.first;; ++pos) {
    const std::uint32_t link = pool_[pos] & ~kLastHop;
    Port& port = ports_[link];
    const std::int64_t before = pace;
    pace = std::max(pace, port.full_time);
    const std::int64_t last_time = send_time(link, message.last_bytes);
    std::int64_t last_start = last_ready;
    if (full > 0) last_start = std::max(last_ready, full_start + (full - 1) * pace + port.full_time);
    if (counts) {
      // On the first link packets come one by one, so none waits.
      const bool is_first = pos == message.first;
      const std::int64_t full_wait = is_first || full == 0 ? 0 : (full - 1) * (pace - before);
      const std::int64_t last_wait = is_first ? 0 : last_start - last_ready;
      port.worst_wait = std::max({port.worst_wait, full_wait, last_wait});
      port.packets += message.packets;
      more_[link].missing += std::int64_t{full_bytes_} - message.last_bytes;
      train_hops_ += message.packets;
    }
    if ((pool_[pos] & kLastHop) != 0) return last_start + last_time + port.latency;
    const std::uint32_t next = pool_[pos + 1] & ~kLastHop;
    full_start += port.latency + head_start(port, next, full_bytes_, port.full_time);
    last_ready = last_start + port.latency + head_start(port, next, message.last_bytes, last_time);
  }
}

void PacketNet::end_train(std::uint32_t id) {
  const Live& live = messages_[id];
  static_cast<void>(train_end(live, true));
  for_each_hop(live.first, [&](std::uint32_t link) { more_[link].train = kNobody; });
}

void PacketNet::break_trains(const Live& message, std::int64_t now) {
  for_each_link(message, [&](std::uint32_t link) {
    if (more_[link].train != kNobody) break_train(more_[link].train, now);
  });
}

void PacketNet::break_train(std::uint32_t id, std::int64_t now) {
  Live& live = messages_[id];
  for_each_hop(live.first, [&](std::uint32_t link) { more_[link].train = kNobody; });
  ++live.generation;  // Its end is no longer known.
  ++broken_trains_;
  if (live.start >= now) return start_sending(id, now);
  const std::int64_t limit = std::exchange(limit_, now);
  const bool is_batch = std::exchange(batch_.is_on, false);
  queue_.swap(scratch_);
  queue_->restart(live.start);
  start_sending(id, live.start);
  while (!run_events(std::numeric_limits<std::uint64_t>::max())) {
  }
  queue_.swap(scratch_);
  limit_ = limit;
  // All of it had arrived, and its sender is about to know.
  if (live.state == MessageState::kDone && live.is_released) limit_ = std::min(limit_, live.end);
  batch_.is_on = is_batch;
  if (is_batch) return absorb_train(id, now);
  for (const Event& event : scratch_->drain()) queue_->push(event);
}

}  // namespace orrery::network
