// SPDX-License-Identifier: Apache-2.0
// What holds senders back, and what happens to lost packets. News (acknowledgements, marks, credits, requests to send
// again) go ahead of data: they take the latencies and the time to send them, and meet no queue.
#include <algorithm>

#include "orrery/network/models/packet_net.hpp"

namespace orrery::network {

using namespace detail;

void PacketNet::prepare_control(std::uint32_t id) {
  Live& live = messages_[id];
  std::int64_t there = 0;
  std::int64_t slowest = 0;
  live.news_delay = 0;
  const auto ack = static_cast<std::uint32_t>(spec_.ack.count());
  for_each_hop(live.first, [&](std::uint32_t link) {
    const Port& port = ports_[link];
    there += port.latency + port.full_time;
    slowest = std::max(slowest, port.full_time);
    live.news_delay += port.latency + (more_[link].bits_per_second == 0 ? 0 : send_time(link, ack));
  });
  if (control_ == Control::kNone) return;
  std::int64_t window = div_ceil(spec_.window.count(), spec_.mtu.count());
  if (window == 0 && spec_.window_rule == "bdp") window = bdp_packets(live);
  if (window == 0) window = slowest == 0 ? 1 : div_ceil(there + live.news_delay, slowest) + 1;
  live.window = static_cast<std::uint32_t>(std::clamp<std::int64_t>(window, 1, live.packets));
  live.credited = live.window;
  if (control_ != Control::kDcqcn) return;
  if (rates_.size() <= id) rates_.resize(id + 1);
  PacketRate& rate = rates_[id] = {};
  const Port& first = ports_[pool_[live.first] & ~kLastHop];
  rate.line =
      first.full_time == 0 ? 0 : static_cast<double>(full_bytes_) / static_cast<double>(first.full_time);
  rate.current = rate.target = rate.line;
}

/// As HPCC's simulations set it: round trip of the latencies and of one payload forward, at the slowest link.
std::int64_t PacketNet::bdp_packets(const Live& message) const {
  std::int64_t round_trip = 0;
  std::int64_t slowest = 1;
  for_each_hop(message.first, [&](std::uint32_t link) {
    if (more_[link].bits_per_second == 0) return;
    const std::int64_t payload = send_time(link, static_cast<std::uint32_t>(spec_.mtu.count()));
    round_trip += 2 * ports_[link].latency + payload;
    slowest = std::max(slowest, payload);
  });
  return div_ceil(round_trip, slowest);
}

/// When news that leave the target at `now` are back at the source, by the links of the message the other way. They go
/// ahead of data but wait for the packet being sent, and what is behind them waits for them. All links are looked at as
/// they are now.
std::int64_t PacketNet::load_way_back(const Live& message, std::int64_t now) {
  if (reverse_.empty()) {
    reverse_.resize(ports_.size());
    for (const topology::Graph::Edge& edge : graph_.edges()) {
      reverse_[edge.forward.index()] = edge.backward.value();
      reverse_[edge.backward.index()] = edge.forward.value();
    }
  }
  const auto bytes = static_cast<std::uint32_t>(spec_.ack.count());
  std::int64_t time = now;
  for (std::uint32_t pos = message.first + hop_count(message.first); pos-- > message.first;) {
    const std::uint32_t link = reverse_[pool_[pos] & ~kLastHop];
    Port& port = ports_[link];
    if (port.is_down) continue;
    if (port.free > time) time += (port.free - time) % port.full_time;
    const std::int64_t sending = send_time(link, bytes);
    port.free = std::max(port.free + sending, time + sending);
    time += sending + port.latency;
  }
  return time;
}

/// `later`: when it may, if that is known; else news will say.
bool PacketNet::may_send(std::uint32_t id, std::int64_t now, std::int64_t& later) {
  const Live& live = messages_[id];
  if (control_ == Control::kCredit) return live.window > 0;
  if (live.flying >= live.window) return false;
  if (control_ != Control::kDcqcn) return true;
  PacketRate& rate = rates_[id];
  raise_rate(id, now);
  if (rate.ready <= now) return true;
  later = rate.ready;
  return false;
}

void PacketNet::at_target(const Event& event) {
  const std::uint32_t id = who_of(event.key);
  Live& live = messages_[id];
  if (!counts_packets_) return complete(id, event.time);
  --live.in_network;
  if (live.state == MessageState::kGhost) {
    if (live.in_network == 0) give_back(id);
    return;
  }
  const std::uint32_t number = number_of(event.key);
  if (goes_back_ && number != live.arrived) {
    // Out of order: dropped. A gap is told once; what comes twice is confirmed again.
    if (number > live.arrived) {
      if (live.asked_again == live.arrived) return;
      live.asked_again = live.arrived;
    }
    send_news({event.time, pack_key(PacketKind::kNews, id, live.arrived), event.pos,
               number > live.arrived ? kLost : 0});
    return;
  }
  ++live.arrived;
  const std::uint32_t told = goes_back_ ? live.arrived : number;
  send_news({event.time, pack_key(PacketKind::kNews, id, told), event.pos, event.info & kMarked});
  if (live.arrived == live.packets) complete(id, event.time);
}

/// `news`: when and about what; its place is that of the packet.
void PacketNet::send_news(Event news) {
  if (control_ == Control::kNone && loss_ != Loss::kDrop) return;
  const std::uint32_t id = who_of(news.key);
  Live& live = messages_[id];
  if (control_ == Control::kCredit) {
    // A target gives credits at the pace of its link, in the order in which packets come, whoever sends them.
    const bool is_lost = (news.info & kLost) != 0;  // The credit it used comes back.
    if (!is_lost && !goes_back_ && live.credited == live.packets) return;
    if (!is_lost) ++live.credited;
    std::uint32_t pos = news.pos;
    while ((pool_[pos] & kLastHop) == 0) ++pos;
    const std::uint32_t last = pool_[pos] & ~kLastHop;
    news.time = std::max(news.time, more_[last].credit_free);
    more_[last].credit_free = news.time + ports_[last].full_time;
  }
  const bool is_loading = spec_.ack_load && !is_spraying_ && !is_blocking_;
  news.time = live.last_news = is_loading ? load_way_back(live, news.time) : news.time + live.news_delay;
  news.pos = live.generation;
  queue_->push(news);
}

void PacketNet::on_news(const Event& event) {
  const std::uint32_t id = who_of(event.key);
  Live& live = messages_[id];
  if (live.generation != event.pos) return;
  const std::uint32_t number = number_of(event.key);
  const bool is_lost = (event.info & kLost) != 0;
  if (goes_back_) {
    if (number > live.known) {
      live.known = number;
      live.timeouts = 0;
    }
    if (is_lost) go_back(id, live.known);
    if (control_ != Control::kCredit) live.flying = live.next - std::min(live.next, live.known);
  } else {
    --live.flying;
    if (is_lost) live.lost.push_back(number);
  }
  if (control_ == Control::kCredit) ++live.window;
  if ((event.info & kMarked) != 0 && control_ == Control::kDcqcn) cut_rate(id, event.time);
  const bool has_more = live.next < live.packets || !live.lost.empty();
  const bool is_idle = live.state == MessageState::kHeld || live.state == MessageState::kSent;
  if (is_idle && has_more) join_turns(id, event.time);
}

void PacketNet::go_back(std::uint32_t id, std::uint32_t to) {
  Live& live = messages_[id];
  if (to >= live.next) return;
  resent_ += live.next - to;
  live.next = to;
  live.flying = 0;
}

void PacketNet::on_timer(const Event& event) {
  constexpr std::uint32_t kMostTimeouts = 16;  // Then nothing gets through, and waiting on is no use.
  const std::uint32_t id = who_of(event.key);
  Live& live = messages_[id];
  const bool is_over = live.state == MessageState::kDone || live.state == MessageState::kGhost;
  if (live.generation != event.pos || is_over) return;
  if (live.known == number_of(event.key) && live.state != MessageState::kTurn) {
    if (++live.timeouts > kMostTimeouts) return;
    go_back(id, live.known);
    if (control_ == Control::kCredit) live.window = std::max(live.window, 1U);
    if (live.next < live.packets) join_turns(id, event.time);
  }
  queue_->push(
      {event.time + count_ps(spec_.timeout), pack_key(PacketKind::kTimer, id, live.known), event.pos, 0});
}

void PacketNet::drop(const Event& event, std::uint32_t link) {
  ++more_[link].drops;
  const std::uint32_t id = who_of(event.key);
  Live& live = messages_[id];
  --live.in_network;
  if (live.state == MessageState::kGhost) {
    if (live.in_network == 0) give_back(id);
    return;
  }
  if (goes_back_) return;  // The next packet shows the gap, or a timeout does.
  // Its header goes on, ahead of data, and the target asks for it again.
  std::int64_t rest = 0;
  for (std::uint32_t pos = event.pos;; ++pos) {
    rest += ports_[pool_[pos] & ~kLastHop].latency;
    if ((pool_[pos] & kLastHop) != 0) break;
  }
  send_news({event.time + rest, pack_key(PacketKind::kNews, id, number_of(event.key)), event.pos, kLost});
}

void PacketNet::cut_rate(std::uint32_t id, std::int64_t now) {
  PacketRate& rate = rates_[id];
  raise_rate(id, now);
  if (rate.last_cut >= 0 && now - rate.last_cut < count_ps(spec_.cnp_interval)) return;
  constexpr double kLeast = 0.001;  // Of the line: nobody is shut out.
  rate.target = rate.current;
  rate.current = std::max(rate.current * (1 - rate.alpha / 2), rate.line * kLeast);
  rate.alpha = (1 - spec_.alpha_gain) * rate.alpha + spec_.alpha_gain;
  rate.last_cut = now;
  rate.raised = now;
  rate.raises = 0;
}

void PacketNet::raise_rate(std::uint32_t id, std::int64_t now) {
  constexpr std::uint32_t kFastRaises = 5;
  constexpr std::int64_t kMostSteps = 4096;  // By then any rate is back at the line.
  PacketRate& rate = rates_[id];
  if (rate.last_cut < 0 || rate.current >= rate.line) return;
  const std::int64_t period = count_ps(spec_.rate_timer);
  const std::int64_t steps = std::min((now - rate.raised) / period, kMostSteps);
  for (std::int64_t step = 0; step < steps; ++step) {
    if (++rate.raises > kFastRaises) {
      rate.target = std::min(rate.line, rate.target + spec_.rate_step.bytes_per_picosecond());
    }
    rate.current = std::min(rate.line, (rate.current + rate.target) / 2);
    rate.alpha *= 1 - spec_.alpha_gain;
  }
  rate.raised += steps * period;
  constexpr double kNearly = 1 - 1e-9;
  if (rate.current >= rate.line * kNearly) rate.current = rate.line;
}

bool PacketNet::is_marked(std::uint32_t link, std::int64_t wait) {
  PortMore& more = more_[link];
  if (wait < more.mark_all) {
    const double share =
        static_cast<double>(wait - more.mark_from) / static_cast<double>(more.mark_all - more.mark_from);
    std::uint64_t word = (seed_ * 0x9E3779B97F4A7C15ULL ^ (std::uint64_t{link} << 32)) + ports_[link].packets;
    word = (word ^ (word >> 31)) * 0xD6E8FEB86659FD93ULL;
    word = (word ^ (word >> 29)) * 0xBF58476D1CE4E5B9ULL;
    const double uniform = static_cast<double>((word ^ (word >> 32)) >> 11) * 0x1.0p-53;
    if (uniform >= share * spec_.ecn_probability) return false;
  }
  ++more.marks;
  return true;
}

}  // namespace orrery::network
