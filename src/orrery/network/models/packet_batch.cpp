// SPDX-License-Identifier: Apache-2.0
// Port by port. Where nothing holds packets back and no route comes back to a port it has passed, ports have an order:
// what a port does depends on those before it only. So all of a stretch of time can be run port by port, each in one
// go: lanes to a port are in order, it merges them by (time, message) and appends to the lanes behind it. The result is
// that of event by event, as a port sees the same packets in the same order.
//
// How long may a stretch be? Only the engine can bring something new (a message, a change), and it acts at its own
// events and at deliveries. With `earliest` the first thing left to do at any port, no delivery that is not yet known
// comes before earliest + lookahead: so the engine runs up to there while ports wait, and ports then run up to there.
// They may go further, up to the engine's next event, as long as no message can be at its target before.
#include <algorithm>

#include "orrery/network/models/packet_net.hpp"

namespace orrery::network {

using namespace detail;

namespace {

constexpr std::uint64_t kHopsPerSlice = 1U << 18;

[[nodiscard]] bool is_sooner(const LaneHead& a, const LaneHead& b) {
  return a.time != b.time ? a.time < b.time : a.message < b.message;
}

/// The first of a heap has changed.
void sift(std::vector<LaneHead>& heap) {
  const LaneHead moved = heap.front();
  std::size_t hole = 0;
  for (std::size_t child = 1; child < heap.size(); child = 2 * hole + 1) {
    if (child + 1 < heap.size() && is_sooner(heap[child + 1], heap[child])) ++child;
    if (!is_sooner(heap[child], moved)) break;
    heap[hole] = heap[child];
    hole = child;
  }
  heap[hole] = moved;
}

}  // namespace

bool PacketNet::run_batch() {
  const std::uint64_t enough = hops_ + kHopsPerSlice;
  const auto known = [&] {
    return batch_.earliest == kNoTime ? kNoTime : batch_.earliest + batch_.lookahead;
  };
  for (;;) {
    // Only ends of messages are left in the queue.
    while (const Event* first = queue_->peek_before(std::min(limit_, known()))) {
      const Event event = *first;
      queue_->pop();
      landed(event);
      handle(event);
    }
    if (limit_ <= known()) return true;
    if (hops_ >= enough) return false;
    run_ports(horizon(known()));
  }
}

/// Up to when nothing new can come; at least `known`.
std::int64_t PacketNet::horizon(std::int64_t known) {
  constexpr std::int64_t kMostPackets = 64;  // Of a port in one go: more would not stay in caches.
  std::int64_t to = limit_;
  if (const Event* first = queue_->peek_before(limit_); first != nullptr) to = first->time;
  to = std::min(to, batch_.earliest + std::max(batch_.lookahead, kMostPackets * longest_time_));
  if (hops_ - batch_.looked < batch_.active.size()) return known;
  batch_.looked = hops_;
  std::size_t kept = 0;
  for (const std::uint32_t id : batch_.active) {
    std::int64_t& due = batch_.due[id];
    if (due == kNoTime) continue;
    batch_.active[kept++] = id;
    if (due < to && messages_[id].state != MessageState::kSent) due = earliest_end(id, batch_.earliest);
    to = std::min(to, due);
  }
  batch_.active.resize(kept);
  return std::max(known, to);
}

/// A message cannot be at its target before, if its next packet leaves at `now` or later.
std::int64_t PacketNet::earliest_end(std::uint32_t id, std::int64_t now) const {
  const Live& live = messages_[id];
  const Port& port = ports_[pool_[live.first] & ~kLastHop];
  const std::int64_t full = live.packets - 1 - live.next;
  return std::max(now, port.free) + full * port.full_time + shortest_way(live.first, live.last_bytes);
}

/// From the port at `pos` to the target, when nothing is in the way.
std::int64_t PacketNet::shortest_way(std::uint32_t pos, std::uint32_t bytes) const {
  std::int64_t sum = 0;
  for (;; ++pos) {
    const std::uint32_t link = pool_[pos] & ~kLastHop;
    const bool is_last = (pool_[pos] & kLastHop) != 0;
    sum += ports_[link].latency;
    if (is_last || !ports_[link].is_cut) sum += send_time(link, bytes);
    if (is_last) return sum;
  }
}

void PacketNet::run_ports(std::int64_t to) {
  std::int64_t earliest = kNoTime;
  for (std::vector<std::uint32_t>& listed : batch_.listed) {
    for (std::size_t i = 0; i < listed.size();) {
      const std::uint32_t link = listed[i];
      if (batch_.next[link] < to) {
        if (batch_.ports[link].is_first) {
          send_own(link, to);
        } else {
          pass_lanes(link, to);
        }
      }
      if (batch_.next[link] == kNoTime) {
        batch_.ports[link].is_listed = false;
        listed[i] = listed.back();
        listed.pop_back();
      } else {
        earliest = std::min(earliest, batch_.next[link]);
        ++i;
      }
    }
  }
  batch_.earliest = earliest;
}

void PacketNet::list_port(std::uint32_t link, std::int64_t time) {
  batch_.next[link] = std::min(batch_.next[link], time);
  BatchPort& port = batch_.ports[link];
  if (port.is_listed) return;
  port.is_listed = true;
  batch_.listed[port.level].push_back(link);
}

[[gnu::always_inline]] inline void PacketNet::push_lane(std::uint32_t lane, const LaneRun& packet) {
  Lane& into = batch_.lanes[lane];
  if (into.count == 0) {
    batch_.ports[into.to].filled.push_back(lane);
    list_port(into.to, packet.time);
  }
  into.push(packet);
}

void PacketNet::add_to_lane(const LaneRun& packet) { push_lane(batch_.lane_at[packet.pos - 1], packet); }

/// How many of the run come before `other`; the first does.
[[gnu::always_inline]] inline std::uint32_t count_before(const LaneRun& run, const LaneHead& other) {
  const std::int64_t room = other.time - run.time;
  if (run.count == 1 || room < run.gap) return 1;
  const std::int64_t whole = room / run.gap;
  const bool is_tie = whole * run.gap == room;
  const std::int64_t most = is_tie && message_of(run.who) > other.message ? whole : whole + 1;
  return static_cast<std::uint32_t>(std::min<std::int64_t>(run.count, most));
}

/// All packets that come to the port before `to`.
void PacketNet::pass_lanes(std::uint32_t link, std::int64_t to) {
  Port& port = ports_[link];
  std::vector<std::uint32_t>& filled = batch_.ports[link].filled;
  std::vector<LaneHead>& heads = batch_.heads;
  heads.clear();
  for (const std::uint32_t lane : filled) {
    const LaneRun& first = batch_.lanes[lane].front();
    if (first.time < to) heads.push_back({first.time, message_of(first.who), lane});
  }
  std::ranges::make_heap(heads, [](const LaneHead& a, const LaneHead& b) { return is_sooner(b, a); });
  while (!heads.empty()) {
    LaneHead& head = heads.front();
    Lane& lane = batch_.lanes[head.lane];
    LaneHead second{to, 0, 0};
    if (heads.size() > 1) second = heads[1];
    if (heads.size() > 2 && is_sooner(heads[2], second)) second = heads[2];
    do {
      LaneRun run = lane.front();
      run.count = count_before(run, second);
      lane.pop(run.count);
      pass_run(port, run);
      if (lane.count == 0) break;
      head.time = lane.front().time;
      head.message = message_of(lane.front().who);
    } while (is_sooner(head, second));
    if (lane.count == 0 || head.time >= to) {
      heads.front() = heads.back();
      heads.pop_back();
    }
    if (heads.size() > 1) sift(heads);
  }
  std::erase_if(filled, [&](std::uint32_t lane) { return batch_.lanes[lane].count == 0; });
  std::int64_t next = kNoTime;
  for (const std::uint32_t lane : filled) next = std::min(next, batch_.lanes[lane].front().time);
  batch_.next[link] = next;
}

/// Nothing comes to the port between its packets. With packet i there at a + i gap, the port free for the first one at
/// s >= a and T the time to send one, it starts at max(a + i gap, s + i T): at first T apart, then as they come.
[[gnu::always_inline]] inline void PacketNet::pass_run(Port& port, const LaneRun& run) {
  const std::int64_t time = port.full_time;
  const std::int64_t start = std::max(run.time, port.free);
  const std::int64_t wait = start - run.time;
  port.packets += run.count;
  hops_ += run.count;
  batch_hops_ += run.count;
  port.worst_wait = std::max(port.worst_wait, wait);
  if ((run.who & kLastPacket) != 0) {
    port.free = pass_last(run, start);
    return;
  }
  const std::uint32_t out = batch_.lane_at[run.pos];
  const auto pass = [&](std::int64_t from, std::int64_t gap, std::uint32_t count) {
    port.free = from + (count - 1) * gap + time;
    if (out == kNobody) return;
    const std::int64_t there = from + batch_.lanes[out].delay;
    push_lane(out, {there, run.who, run.pos + 1, static_cast<std::uint32_t>(gap), count});
  };
  if (run.count == 1) return pass(start, 0, 1);
  if (run.gap <= time) {
    port.worst_wait = std::max(port.worst_wait, wait + (run.count - 1) * (time - run.gap));
    return pass(start, time, run.count);
  }
  const std::int64_t late = std::min<std::int64_t>(run.count, div_ceil(wait, run.gap - time));
  const auto crowded = static_cast<std::uint32_t>(late);
  if (crowded > 0) pass(start, time, crowded);
  if (crowded < run.count) pass(run.time + late * run.gap, run.gap, run.count - crowded);
}

std::uint32_t PacketNet::last_of(std::uint32_t id) const {
  return id | kLastPacket | (messages_[id].packets >= kLongMessage ? kOfLong : 0);
}

/// The last packet of a message, sent from `start`; returns its end.
std::int64_t PacketNet::pass_last(const LaneRun& packet, std::int64_t start) {
  const std::uint32_t id = message_of(packet.who);
  const std::uint32_t bytes = packet.gap;
  const std::uint32_t link = pool_[packet.pos] & ~kLastHop;
  const Port& port = ports_[link];
  const std::int64_t time = send_time(link, bytes);
  more_[link].missing += std::int64_t{full_bytes_} - bytes;
  if ((pool_[packet.pos] & kLastHop) != 0) {
    emit(link, {start + time + port.latency, pack_key(PacketKind::kPacket, id), packet.pos,
                bytes | kFinal | kAtTarget});
    batch_.due[id] = kNoTime;
    --batch_.in_flight;
  } else {
    const std::uint32_t pos = packet.pos + 1;
    const std::int64_t there = start + port.latency + head_start(port, pool_[pos] & ~kLastHop, bytes, time);
    add_to_lane({there, packet.who, pos, bytes});
    if ((packet.who & kOfLong) != 0) batch_.due[id] = there + shortest_way(pos, bytes);
  }
  return start + time;
}

/// All packets that the host itself sends over its link before `to`.
void PacketNet::send_own(std::uint32_t link, std::int64_t to) {
  Port& port = ports_[link];
  Sender& sender = senders_[link];
  std::vector<Event>& joins = batch_.ports[link].joins;
  const auto next = [&] {
    if (sender.head != kNobody) return port.free;
    return joins.empty() ? kNoTime : std::max(port.free, joins.front().time);
  };
  for (std::int64_t now = next(); now < to; now = next()) {
    const auto late = std::ranges::find_if(joins, [&](const Event& join) { return join.time > now; });
    for (auto join = joins.begin(); join != late; ++join) append_turn(sender, join->pos);
    joins.erase(joins.begin(), late);
    const std::uint32_t id = sender.head;
    Live& live = messages_[id];
    if (live.next + 1 == live.packets) {
      leave_turns(sender);
      ++live.next;
      pass_run(port, {now, last_of(id), live.first, live.last_bytes});
      live.state = MessageState::kSent;
      live.is_injected = true;
      if (live.behind != kNobody) follow(sender, link, live.behind, now);
    } else {
      // Alone, it sends until another one comes; else it is the next one's turn.
      std::int64_t run = 1;
      if (sender.head == sender.tail) {
        const std::int64_t until = joins.empty() ? to : std::min(to, joins.front().time);
        run = std::min<std::int64_t>(live.packets - 1 - live.next, div_ceil(until - now, port.full_time));
      } else {
        leave_turns(sender);
        append_turn(sender, id);
      }
      live.next += static_cast<std::uint32_t>(run);
      pass_run(port, {now, id, live.first, static_cast<std::uint32_t>(port.full_time),
                      static_cast<std::uint32_t>(run)});
    }
    port.was_own = sender.head != kNobody;
  }
  batch_.next[link] = next();
}

/// The message behind it in its stream may go, if it has been sent by then.
void PacketNet::follow(Sender& sender, std::uint32_t link, std::uint32_t id, std::int64_t now) {
  Live& live = messages_[id];
  if (live.state != MessageState::kQueued) return;
  if (live.start > now) return add_join(link, id, live.order);
  live.start = now;
  live.state = MessageState::kTurn;
  append_turn(sender, id);
}

void PacketNet::append_turn(Sender& sender, std::uint32_t id) {
  messages_[id].turn_next = kNobody;
  if (sender.head == kNobody) {
    sender.head = id;
  } else {
    messages_[sender.tail].turn_next = id;
  }
  sender.tail = id;
}

/// At equal times those that are sent then come first, in order (`order`), and then those that had to wait (0).
void PacketNet::add_join(std::uint32_t link, std::uint32_t id, std::uint64_t order) {
  Live& live = messages_[id];
  live.state = MessageState::kTurn;
  const Event join{live.start, order != 0 ? order : pack_key(PacketKind::kBegin, id), id, 0};
  std::vector<Event>& joins = batch_.ports[link].joins;
  joins.insert(std::ranges::upper_bound(joins, join, is_before), join);
  list_port(link, std::max(ports_[link].free, join.time));
  batch_.earliest = std::min(batch_.earliest, join.time);
}

}  // namespace orrery::network
