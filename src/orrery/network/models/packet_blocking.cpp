// SPDX-License-Identifier: Apache-2.0
// Ports that the node behind them can hold back: by PFC (it says stop when too much of what came over the link is still
// there) or by credits (it says how much it can take). When a packet leaves is then known only when it leaves, so these
// ports keep real queues and need an event per packet that ends its sending.
#include <algorithm>

#include "orrery/network/models/packet_net.hpp"

namespace orrery::network {

using namespace detail;

namespace {

/// What the node behind a port says, a latency later.
enum FlowWord : std::uint32_t { kPause, kResume, kCredit };

}  // namespace

void PacketNet::arrive_blocking(const Event& event) {
  const std::uint32_t link = pool_[event.pos] & ~kLastHop;
  const std::int64_t bytes = event.info & kBytesMask;
  if ((event.info & kLocal) == 0) {
    const std::uint32_t from = pool_[event.pos - 1];
    PortQueue& behind = queues_[from];
    behind.behind += bytes;
    behind.worst_behind = std::max(behind.worst_behind, behind.behind);
    Port& source = ports_[from];
    if (loss_ == Loss::kPfc && behind.behind > spec_.pause_at.count() && !source.wants_pause) {
      source.wants_pause = true;
      ++more_[from].pauses;
      queue_->push({event.time + source.latency, pack_key(PacketKind::kFlow, from, kPause), 0, 0});
    }
  }
  PortQueue& queue = queues_[link];
  Event queued = event;
  if (queue.bytes > 0) {
    const std::int64_t wait = queue.bytes * ports_[link].full_time / full_bytes_;
    if (wait > more_[link].mark_from && is_marked(link, wait)) queued.info |= kMarked;
    if (engine_.observer() != nullptr) [[unlikely]] {
      observe_queue(link, event.time, wait);
    }
  }
  queue.packets.push_back(queued);
  queue.bytes += bytes;
  try_send(link, event.time);
  more_[link].worst_queue = std::max(more_[link].worst_queue, queue.bytes);
}

void PacketNet::try_send(std::uint32_t link, std::int64_t now) {
  Port& port = ports_[link];
  if (port.free > now) return;  // It looks again then.
  if (port.wakes) finish_sending(link, now);
  if (port.is_down || port.is_paused) return;
  PortQueue& queue = queues_[link];
  Sender& sender = senders_[link];
  // The host's own packets and those under way take turns.
  const bool is_own_turn = sender.head != kNobody && (queue.packets.empty() || !port.was_own);
  if (is_own_turn) {
    // Credit for a full packet, whoever's turn it is: no turn is taken in vain.
    if (!has_credit(link, {now, 0, messages_[sender.head].first, full_bytes_})) return;
    std::int64_t ready = kNoTime;
    const std::uint32_t id = take_turn(sender, now, ready);
    if (id != kNobody) {
      send_blocking(link, next_packet(id, now), now);
      after_packet(id, link, now);
      port.was_own = sender.head != kNobody || !queue.packets.empty();
      return;
    }
    if (sender.head != kNobody && ready != kNoTime) wake_sender(link, ready);
  }
  if (queue.packets.empty()) return;
  const Event event = queue.packets.front();
  if (!has_credit(link, event)) return;
  port.was_own = false;
  queue.packets.pop_front();
  queue.bytes -= event.info & kBytesMask;
  send_blocking(link, event, now);
}

bool PacketNet::has_credit(std::uint32_t link, const Event& event) const {
  if (loss_ != Loss::kCredit || (pool_[event.pos] & kLastHop) != 0) return true;
  return queues_[link].credit >= (event.info & kBytesMask);
}

void PacketNet::send_blocking(std::uint32_t link, const Event& event, std::int64_t now) {
  Port& port = ports_[link];
  PortQueue& queue = queues_[link];
  const std::uint32_t hop = pool_[event.pos];
  const std::uint32_t bytes = event.info & kBytesMask;
  const std::int64_t time = send_time(link, bytes);
  port.free = now + time;
  port.wakes = true;
  count(link, bytes);
  queue.sending_from = (event.info & kLocal) != 0 ? kNobody : pool_[event.pos - 1];
  queue.sending_bytes = bytes;
  if (loss_ == Loss::kCredit && (hop & kLastHop) == 0) queue.credit -= bytes;
  queue_->push({port.free, pack_key(PacketKind::kPort, link), 0, 0});
  pass_on(event, hop, now, time);
}

/// The packet has left: its place in the buffer is free, and the link over which it came may hear of it.
void PacketNet::finish_sending(std::uint32_t link, std::int64_t now) {
  ports_[link].wakes = false;
  PortQueue& queue = queues_[link];
  const std::uint32_t from = std::exchange(queue.sending_from, kNobody);
  if (from == kNobody) return;
  Port& source = ports_[from];
  queues_[from].behind -= queue.sending_bytes;
  if (loss_ == Loss::kCredit) {
    queue_->push({now + source.latency, pack_key(PacketKind::kFlow, from, kCredit), link,
                  static_cast<std::uint32_t>(queue.sending_bytes)});
  } else if (source.wants_pause && queues_[from].behind <= spec_.resume_at.count()) {
    source.wants_pause = false;
    queue_->push({now + source.latency, pack_key(PacketKind::kFlow, from, kResume), 0, 0});
  }
}

void PacketNet::on_port(std::uint32_t link, std::int64_t now) {
  if (ports_[link].free <= now) try_send(link, now);
}

void PacketNet::on_flow(std::uint32_t link, std::uint32_t what, std::int64_t bytes, std::int64_t now) {
  if (what == kCredit) {
    queues_[link].credit += bytes;
  } else {
    ports_[link].is_paused = what == kPause;
  }
  try_send(link, now);
}

}  // namespace orrery::network
