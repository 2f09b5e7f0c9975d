// SPDX-License-Identifier: Apache-2.0
// A packet at a port, and the turns that the messages of a host take at their first link.
#include <algorithm>

#include "orrery/network/models/packet_net.hpp"

namespace orrery::network {

using namespace detail;

std::int64_t PacketNet::send_time(std::uint32_t link, std::uint32_t bytes) const {
  if (bytes == full_bytes_) return ports_[link].full_time;
  constexpr std::uint64_t kBitPicoseconds = 8'000'000'000'000;  // Times 2^18 bytes is still below 2^64.
  const std::uint64_t bits = more_[link].bits_per_second;
  return static_cast<std::int64_t>((bytes * kBitPicoseconds + bits - 1) / bits);
}

/// From the start of sending until the node behind the port may send on, without the latency. A faster link must not
/// run out of bytes, so there the packet begins late enough to end when it is all there.
std::int64_t PacketNet::head_start(const Port& port, std::uint32_t next, std::uint32_t bytes,
                                   std::int64_t time) const {
  if (!port.is_cut) return time;
  return std::max(std::min(port.head_time, time), time - send_time(next, bytes));
}

[[gnu::always_inline]] inline void PacketNet::pass_here(const Event& event, std::uint32_t hop,
                                                        std::int64_t start, std::int64_t time) {
  const std::uint32_t link = hop & ~kLastHop;
  const Port& port = ports_[link];
  Event next = event;
  next.info &= ~kLocal;
  if ((hop & kLastHop) != 0) {
    // In order and whole, only the last packet says something.
    if (!counts_packets_ && (event.info & kFinal) == 0) return;
    next.time = start + time + port.latency;
    next.info |= kAtTarget;
  } else {
    ++next.pos;
    const std::uint32_t bytes = event.info & kBytesMask;
    next.time = start + port.latency +
                (port.is_cut ? head_start(port, pool_[next.pos] & ~kLastHop, bytes, time) : time);
  }
  emit(link, next);
}

[[gnu::always_inline]] inline void PacketNet::accept(const Event& event, std::uint32_t hop) {
  const std::uint32_t link = hop & ~kLastHop;
  Port& port = ports_[link];
  const std::uint32_t bytes = event.info & kBytesMask;
  const std::int64_t time = send_time(link, bytes);
  const std::int64_t start = std::max(event.time, port.free);
  Event sent = event;
  if (const std::int64_t wait = start - event.time; wait > 0) {
    if (wait + time > more_[link].drop_wait) [[unlikely]] {
      return drop(event, link);
    }
    if (wait > more_[link].mark_from && is_marked(link, wait)) sent.info |= kMarked;
    port.worst_wait = std::max(port.worst_wait, wait);
    if (engine_.observer() != nullptr) [[unlikely]] {
      observe_queue(link, event.time, wait);
    }
  }
  port.free = start + time;
  count(link, bytes);
  pass_here(sent, hop, start, time);
}

[[gnu::always_inline]] inline void PacketNet::arrive_here(const Event& event) {
  const std::uint32_t hop = pool_[event.pos];
  const std::uint32_t link = hop & ~kLastHop;
  Port& port = ports_[link];
  if (port.is_down) [[unlikely]] {
    more_[link].waiting.push_back(event);
    return;
  }
  if (port.has_turns && (event.info & kLocal) == 0) [[unlikely]] {
    wait_for_turn(event, link);
    return;
  }
  accept(event, hop);
}

void PacketNet::arrive(const Event& event) { arrive_here(event); }

void PacketNet::pass_on(const Event& event, std::uint32_t hop, std::int64_t start, std::int64_t time) {
  pass_here(event, hop, start, time);
}

bool PacketNet::run_events(std::uint64_t most) {
  for (std::uint64_t done = 0; done < most; ++done) {
    const Event* first = queue_->peek_before(limit_);
    if (first == nullptr) return true;
    const Event event = *first;
    queue_->pop();
    fetch_ahead();
    if (event.key >> kKindShift == 0) landed(event);
    if (event.key >> kKindShift == 0 && (event.info & kAtTarget) == 0 && !is_blocking_) [[likely]] {
      arrive_here(event);
    } else {
      handle(event);
    }
  }
  return false;
}

void PacketNet::handle(const Event& event) {
  const std::uint32_t who = who_of(event.key);
  switch (kind_of(event.key)) {
    case PacketKind::kPacket:
      if ((event.info & kAtTarget) != 0) return at_target(event);
      return is_blocking_ ? arrive_blocking(event) : arrive(event);
    case PacketKind::kNews:
      return on_news(event);
    case PacketKind::kFlow:
      return on_flow(who, number_of(event.key), event.info, event.time);
    case PacketKind::kPort:
      return on_port(who, event.time);
    case PacketKind::kBegin:
      if (messages_[who].generation == event.pos) start_sending(who, event.time);
      return;
    case PacketKind::kTimer:
      return on_timer(event);
    case PacketKind::kSender:
      return on_sender(who, event.time);
  }
}

void PacketNet::join_turns(std::uint32_t id, std::int64_t now) {
  Live& live = messages_[id];
  const std::uint32_t link = pool_[live.first] & ~kLastHop;
  Sender& sender = senders_[link];
  live.state = MessageState::kTurn;
  append_turn(sender, id);
  ports_[link].has_turns = !is_blocking_;
  wake_sender(link, std::max(now, ports_[link].free));
}

void PacketNet::wake_sender(std::uint32_t link, std::int64_t at) {
  Sender& sender = senders_[link];
  if (sender.wake <= at) return;  // It looks again then anyway.
  sender.wake = at;
  queue_->push({at, pack_key(PacketKind::kSender, link), 0, 0});
}

void PacketNet::leave_turns(Sender& sender) {
  sender.head = messages_[sender.head].turn_next;
  if (sender.head == kNobody) sender.tail = kNobody;
}

/// The message whose turn it is; nobody when all are held back, `ready` then says until when at least.
std::uint32_t PacketNet::take_turn(Sender& sender, std::int64_t now, std::int64_t& ready) {
  ready = kNoTime;
  std::uint32_t first_late = kNobody;
  while (sender.head != kNobody && sender.head != first_late) {
    const std::uint32_t id = sender.head;
    leave_turns(sender);
    if (control_ == Control::kNone) return id;
    std::int64_t later = kNoTime;
    if (may_send(id, now, later)) return id;
    if (later == kNoTime) {
      messages_[id].state = MessageState::kHeld;
      continue;
    }
    ready = std::min(ready, later);
    if (first_late == kNobody) first_late = id;
    append_turn(sender, id);
  }
  return kNobody;
}

/// A host's own packets and those that pass through it take turns, one by one, as the inputs of a router do.
void PacketNet::wait_for_turn(const Event& event, std::uint32_t link) {
  PacketRing& waiting = more_[link].under_way;
  Port& port = ports_[link];
  const std::int64_t ahead = static_cast<std::int64_t>(waiting.size()) * port.full_time;
  const std::int64_t wait = ahead + std::max<std::int64_t>(0, port.free - event.time);
  if (wait + port.full_time > more_[link].drop_wait) return drop(event, link);
  Event queued = event;
  if (wait > more_[link].mark_from && is_marked(link, wait)) queued.info |= kMarked;
  waiting.push(queued);
  port.worst_wait = std::max(port.worst_wait, wait);
  if (engine_.observer() != nullptr) [[unlikely]] {
    observe_queue(link, event.time, wait);
  }
  wake_sender(link, std::max(event.time, port.free));
}

void PacketNet::on_sender(std::uint32_t link, std::int64_t now) {
  Sender& sender = senders_[link];
  if (sender.wake != now) return;  // It was woken earlier.
  sender.wake = kNoTime;
  if (is_blocking_) return try_send(link, now);
  Port& port = ports_[link];
  if (port.is_down) return;  // Woken when it comes up.
  if (port.free > now) return wake_sender(link, port.free);
  PacketRing& under_way = more_[link].under_way;
  std::int64_t ready = kNoTime;
  std::uint32_t id = kNobody;
  if (under_way.size() == 0 || !port.was_own) id = take_turn(sender, now, ready);
  if (id != kNobody) {
    arrive(next_packet(id, now));
    after_packet(id, link, now);
  } else if (under_way.size() > 0) {
    Event event = under_way.pop();
    event.time = now;
    accept(event, pool_[event.pos]);
  }
  const bool has_left = sender.head != kNobody || under_way.size() > 0;
  port.has_turns = has_left;
  port.was_own = has_left && id != kNobody;
  if (port.free > now) ready = port.free;
  if (has_left && ready != kNoTime) wake_sender(link, ready);
}

PacketNet::Event PacketNet::next_packet(std::uint32_t id, std::int64_t now) {
  Live& live = messages_[id];
  std::uint32_t number = 0;
  if (live.lost.empty()) {
    number = live.next++;
  } else {
    number = live.lost.back();
    live.lost.pop_back();
    ++resent_;
  }
  const bool is_last = number + 1 == live.packets;
  const std::uint32_t bytes = is_last ? live.last_bytes : full_bytes_;
  std::uint32_t pos = live.first;
  if (counts_packets_) {
    ++live.flying;
    ++live.in_network;
    if (control_ == Control::kCredit) --live.window;
    if (control_ == Control::kDcqcn) {
      PacketRate& rate = rates_[id];
      rate.ready = rate.current >= rate.line ? now : now + count_ps(ceil_unchecked(bytes / rate.current));
    }
    if (is_spraying_) {
      const std::vector<std::uint32_t>& ways = sprays(live.route);
      if (ways.size() > 1) pos = ways[draw(live.cookie ^ live.route.value(), number) % ways.size()];
    }
  }
  return {now, pack_key(PacketKind::kPacket, id, number), pos, bytes | kLocal | (is_last ? kFinal : 0)};
}

void PacketNet::after_packet(std::uint32_t id, std::uint32_t link, std::int64_t now) {
  Live& live = messages_[id];
  if (live.next < live.packets || !live.lost.empty()) {
    append_turn(senders_[link], id);
    return;
  }
  live.state = MessageState::kSent;
  if (live.is_injected) return;
  live.is_injected = true;
  if (live.behind != kNobody && messages_[live.behind].state == MessageState::kQueued) {
    start_sending(live.behind, now);
  }
}

/// The same for the same seed and numbers.
std::uint64_t PacketNet::draw(std::uint64_t from, std::uint64_t number) const {
  std::uint64_t word = ((seed_ + 1) * 0x9E3779B97F4A7C15ULL) ^ (from << 20);
  word = (word ^ (word >> 31)) * 0xD6E8FEB86659FD93ULL + number;
  word = (word ^ (word >> 29)) * 0xBF58476D1CE4E5B9ULL;
  return word ^ (word >> 32);
}

void PacketNet::observe_queue(std::uint32_t link, std::int64_t now, std::int64_t wait) {
  constexpr std::int64_t kSampleEvery = 1'000'000;  // Once per microsecond and port is enough to see.
  if (next_sample_.empty()) {
    next_sample_.assign(ports_.size(), 0);
    tracks_.resize(ports_.size());
  }
  if (now < next_sample_[link]) return;
  next_sample_[link] = now + kSampleEvery;
  engine::Observer& observer = *engine_.observer();
  if (!tracks_[link].is_valid()) {
    tracks_[link] = observer.track("links", graph_.link_name(topology::LinkId{link}));
  }
  const Port& port = ports_[link];
  const double bytes = static_cast<double>(wait) * full_bytes_ / static_cast<double>(port.full_time);
  observer.counter(tracks_[link], "queue_bytes", Time{Duration{now}}, bytes);
}

}  // namespace orrery::network
