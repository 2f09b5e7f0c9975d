// SPDX-License-Identifier: Apache-2.0
// When ports are run port by port (packet_batch.cpp): the order of ports, and how to begin and to end it. It begins
// when no packet is under way. It ends, and all that is under way becomes events, when a link changes or a route does
// not fit: one that comes back to ports before it, or that passes through a host's own link (rings, meshes, tori).
#include <algorithm>

#include "orrery/network/models/packet_net.hpp"

namespace orrery::network {

using namespace detail;

void PacketNet::prepare_batch() {
  const bool is_plain = control_ == Control::kNone && loss_ == Loss::kNone && !is_spraying_;
  batch_.is_allowed =
      spec_.batches != "never" && is_plain && header_ > 0;  // Without a header a packet may take no time.
  if (!batch_.is_allowed) return;
  batch_.ports.resize(ports_.size());
  batch_.next.resize(ports_.size(), kNoTime);
  batch_.listed.resize(PacketBatch::kMostLevels);
}

void PacketNet::choose_way(std::int64_t now) {
  if (!batch_.is_allowed) return;
  const bool is_fit = engine_.observer() == nullptr && (spec_.batches == "always" || is_batch_faster());
  if (batch_.is_on && !is_fit) leave_batch(now);
  if (batch_.is_on || !is_fit || down_ > 0 || queue_->size() > 0) return;
  longest_time_ = std::ranges::max_element(ports_, {}, &Port::full_time)->full_time;
  if (longest_time_ > std::numeric_limits<std::uint32_t>::max()) return;  // Of gaps in runs.
  batch_.is_on = true;
  for (Lane& lane : batch_.lanes) set_delay(lane);
  batch_.lookahead = kNoTime;
  for (std::uint32_t link = 0; link < ports_.size(); ++link) {
    if (batch_.ports[link].is_last) look_ahead(link);
  }
}

/// It gains from evenly spaced packets: from long messages, and hosts that do not send many at once in turns.
bool PacketNet::is_batch_faster() const {
  constexpr std::size_t kMostAtOnce = 4;
  constexpr std::uint64_t kLeastPackets = 16;
  if (batch_.in_flight + fresh_.size() > kMostAtOnce * batch_.hosts) return false;
  if (batch_.is_on) return true;
  std::uint64_t packets = 0;
  for (const std::uint32_t id : fresh_) packets += messages_[id].packets;
  return packets >= kLeastPackets * fresh_.size();
}

void PacketNet::set_delay(Lane& lane) const {
  const Port& port = ports_[lane.from];
  lane.delay = port.latency + head_start(port, lane.to, full_bytes_, port.full_time);
}

void PacketNet::look_ahead(std::uint32_t link) {
  batch_.ports[link].is_last = true;
  if (more_[link].bits_per_second == 0) return;  // Never up; nothing runs port by port then.
  batch_.lookahead = std::min(batch_.lookahead, ports_[link].latency + send_time(link, header_));
}

/// Makes the lanes of a route, and keeps ports in order.
void PacketNet::add_lanes(std::uint32_t first) {
  if (!batch_.is_allowed) return;
  batch_.lane_at.resize(pool_.size(), kNobody);
  for (std::uint32_t pos = first;; ++pos) {
    const std::uint32_t link = pool_[pos] & ~kLastHop;
    BatchPort& port = batch_.ports[link];
    if (pos == first ? port.is_later : port.is_first) return give_up();
    if (pos == first && !port.is_first) ++batch_.hosts;
    (pos == first ? port.is_first : port.is_later) = true;
    if ((pool_[pos] & kLastHop) != 0) return look_ahead(link);
    const std::uint32_t next = pool_[pos + 1] & ~kLastHop;
    const auto lane = static_cast<std::uint32_t>(batch_.lanes.size());
    const auto [known, is_new] = batch_.lane_of.try_emplace((std::uint64_t{link} << 32) | next, lane);
    batch_.lane_at[pos] = known->second;
    if (!is_new) continue;
    if (leads_to(next, link)) return give_up();
    batch_.lanes.push_back({.from = link, .to = next});
    if (batch_.is_on) set_delay(batch_.lanes.back());
    port.outs.push_back(lane);
    if (!raise(next, port.level + 1)) return give_up();
  }
}

/// For good: the way back has no lanes for later routes.
void PacketNet::give_up() {
  if (batch_.is_on) leave_batch(count_ps(engine_.now()));
  batch_ = {};
}

bool PacketNet::leads_to(std::uint32_t from, std::uint32_t to) const {
  if (from == to) return true;
  if (batch_.ports[from].level >= batch_.ports[to].level) return false;
  return std::ranges::any_of(batch_.ports[from].outs,
                             [&](std::uint32_t lane) { return leads_to(batch_.lanes[lane].to, to); });
}

bool PacketNet::raise(std::uint32_t link, std::uint32_t level) {
  BatchPort& port = batch_.ports[link];
  if (port.level >= level) return true;
  if (level >= PacketBatch::kMostLevels) return false;
  if (port.is_listed) {
    std::erase(batch_.listed[port.level], link);
    batch_.listed[level].push_back(link);
  }
  port.level = level;
  return std::ranges::all_of(port.outs,
                             [&](std::uint32_t lane) { return raise(batch_.lanes[lane].to, level + 1); });
}

bool PacketNet::begin_in_batch(std::uint32_t id, std::int64_t now) {
  Live& live = messages_[id];
  live.order = live.start > now ? 0 : ++batch_.begun;
  if (live.before != kNobody && !messages_[live.before].is_injected) {
    // Or so it seems: ports may be behind the clock, and will see to it. They can do so for their own messages only.
    if (pool_[live.first] != pool_[messages_[live.before].first]) {
      give_up();
      return false;
    }
    live.state = MessageState::kQueued;
    watch(id, now);
  } else if (!try_train(id)) {
    start_sending(id, now);
  }
  return true;
}

void PacketNet::join_in_batch(std::uint32_t id, std::int64_t now) {
  Live& live = messages_[id];
  live.order = live.start > now ? 0 : ++batch_.begun;
  live.start = std::max(live.start, now);
  add_join(pool_[live.first] & ~kLastHop, id, live.order);
  watch(id, live.start);
}

/// Its end is not known yet, but that it is not before this.
void PacketNet::watch(std::uint32_t id, std::int64_t now) {
  if (batch_.due.size() <= id) batch_.due.resize(id + 1, kNoTime);
  batch_.due[id] = earliest_end(id, now);
  batch_.active.push_back(id);
  ++batch_.in_flight;
}

/// A train was run event by event up to `now`, on links that were its own: the rest of it is run port by port.
void PacketNet::absorb_train(std::uint32_t id, std::int64_t now) {
  const std::uint32_t first = pool_[messages_[id].first] & ~kLastHop;
  const std::vector<Event> rest = scratch_->drain();
  const auto take = [&](const Event& event) {
    const bool is_last = (event.info & kFinal) != 0;
    add_to_lane({event.time, is_last ? last_of(id) : id, event.pos, is_last ? event.info & kBytesMask : 0});
    if (is_last) batch_.due[id] = event.time + shortest_way(event.pos, event.info & kBytesMask);
  };
  if (messages_[id].state == MessageState::kDone) return;
  watch(id, now);
  batch_.earliest = std::min(batch_.earliest, now);
  for (const Event& event : rest) {
    if (kind_of(event.key) != PacketKind::kPacket) continue;  // Its host's turn, which follows from its port.
    if ((event.info & kAtTarget) != 0) {
      queue_->push(event);
      batch_.due[id] = kNoTime;
      --batch_.in_flight;
      continue;
    }
    Port& port = ports_[crossed(event)];
    take(event);
    while (port.ring.size() > 0) take(port.ring.pop());
    port.leaving = 0;
  }
  senders_[first].wake = kNoTime;
  if (senders_[first].head != kNobody) list_port(first, ports_[first].free);
}

/// From now on event by event.
void PacketNet::leave_batch(std::int64_t now) {
  run_ports(now);
  batch_.is_on = false;
  for (std::uint32_t link = 0; link < ports_.size(); ++link) {
    BatchPort& port = batch_.ports[link];
    std::vector<Event> leaving;
    for (const std::uint32_t lane : port.outs) {
      for (Lane& from = batch_.lanes[lane]; from.count > 0; from.pop(1)) {
        leaving.push_back(to_event(from.front()));
      }
    }
    std::ranges::sort(leaving, is_before);
    for (const Event& event : leaving) emit(link, event);
    if (port.is_first) resume_turns(link, now);
    port.filled.clear();
    port.joins.clear();
    port.is_listed = false;
    batch_.next[link] = kNoTime;
  }
  for (std::vector<std::uint32_t>& listed : batch_.listed) listed.clear();
  batch_.earliest = kNoTime;
  batch_.active.clear();
  batch_.in_flight = 0;
}

PacketNet::Event PacketNet::to_event(const LaneRun& packet) const {
  const std::uint32_t id = message_of(packet.who);
  const Live& live = messages_[id];
  const bool is_last = (packet.who & kLastPacket) != 0;
  const std::uint32_t info = is_last ? live.last_bytes | kFinal : full_bytes_;
  return {packet.time, pack_key(PacketKind::kPacket, id, is_last ? live.packets - 1 : 0), packet.pos, info};
}

void PacketNet::resume_turns(std::uint32_t link, std::int64_t now) {
  Sender& sender = senders_[link];
  for (const Event& join : batch_.ports[link].joins) {
    if (join.time < now || kind_of(join.key) != PacketKind::kBegin) {
      append_turn(sender, join.pos);
      continue;
    }
    messages_[join.pos].state = MessageState::kQueued;
    queue_->push({join.time, join.key, messages_[join.pos].generation, 0});
  }
  ports_[link].has_turns = sender.head != kNobody;
  if (sender.head != kNobody) wake_sender(link, std::max(now, ports_[link].free));
}

}  // namespace orrery::network
