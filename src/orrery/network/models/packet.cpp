// SPDX-License-Identifier: Apache-2.0
// Packets: a message is cut into packets of `mtu` payload and `header`; each link has a queue in front of it, served
// in order of arrival. A packet that comes to a port at `a` leaves at max(a, port free) and takes size / bandwidth; it
// is at the next port a latency later, whole (store and forward) or with its header (cut through). Exact for the rules
// stated; times are rounded up to whole picoseconds per packet and link. docs/models/packet.md.
//
// In order of arrival a packet's departure is known when it comes, so a packet costs one event per link, kept by the
// model itself (engine::Background). A message alone on its links costs one event in all (packet_train.cpp).
#include <algorithm>

#include "orrery/base/text.hpp"
#include "orrery/network/models/packet_net.hpp"

namespace orrery::network {

using namespace detail;

namespace {

constexpr std::int64_t kDefaultBuffer = 1 << 20;
constexpr std::uint64_t kEventsPerSlice = 1U << 16;

template <class Word>
Word word_of(const std::string& text, std::initializer_list<const char*> words) {
  const auto found = std::ranges::find(words, text);
  return static_cast<Word>(found - words.begin());
}

}  // namespace

PacketNet::PacketNet(const PacketSpec& spec, NetworkContext& context)
    : spec_{spec},
      engine_{context.engine},
      router_{context.router},
      graph_{context.router.graph()},
      paths_{context},
      origin_{engine_.add_origin("network")},
      seed_{context.seed},
      control_{word_of<Control>(spec.control, {"none", "window", "dcqcn", "credit"})},
      loss_{word_of<Loss>(spec.loss, {"none", "drop", "pfc", "credit"})},
      is_blocking_{loss_ == Loss::kPfc || loss_ == Loss::kCredit},
      is_spraying_{spec.routing == "spray"},
      is_drawing_{spec.routing == "message"},
      goes_back_{loss_ == Loss::kDrop && spec.recovery == "go_back_n"},
      is_acknowledged_{spec.delivery == "acknowledged"},
      counts_packets_{control_ != Control::kNone || loss_ == Loss::kDrop || is_spraying_},
      full_bytes_{static_cast<std::uint32_t>(spec.mtu.count() + spec.header.count())},
      header_{static_cast<std::uint32_t>(spec.header.count())},
      buffer_{spec.buffer.count() == 0 ? kDefaultBuffer : spec.buffer.count()},
      queue_{std::make_unique<PacketQueue>()},
      scratch_{std::make_unique<PacketQueue>()} {
  const std::size_t links = paths_.link_count();
  ports_.resize(links);
  more_.resize(links);
  senders_.resize(links);
  if (is_blocking_) queues_.resize(links);
  for (PortQueue& queue : queues_) queue.credit = std::max<std::int64_t>(buffer_, full_bytes_);
  find_cuts();
  for (std::uint32_t link = 0; link < links; ++link) set_port(link, paths_.link(link));
  prepare_batch();
  engine_.add_watch(*this);
  engine_.set_background(this);
}

PacketNet::~PacketNet() {
  engine_.set_background(nullptr);
  engine_.remove_watch(*this);
}

StreamId PacketNet::open_stream() {
  stream_tail_.push_back(kNobody);
  return StreamId{stream_tail_.size() - 1};
}

void PacketNet::expect(std::size_t streams) {
  paths_.reserve(streams);
  reserve_more(stream_tail_, streams);
}

void PacketNet::send(const Message& message) {
  Paths::Path& path = paths_.get(message.route);
  ++path.messages;
  path.bytes += message.size.count();
  const std::uint32_t id = messages_.take();
  ORRERY_CHECK(id < kMostMessages, "more than {} messages at once", kMostMessages);
  Live& live = messages_[id];
  const std::uint32_t generation = live.generation;
  std::vector<std::uint32_t> lost = std::move(live.lost);
  live = Live{};
  live.lost = std::move(lost);
  live.generation = generation;
  live.receiver = message.receiver;
  live.cookie = message.cookie;
  live.size = message.size.count();
  live.route = message.route;
  live.stream = message.stream.value();
  const std::int64_t now = count_ps(engine_.now());
  if (path.count == 0) {
    live.state = MessageState::kDone;
    deliver_at(id, now);
    return;
  }
  live.start = now + count_ps(spec_.overhead + paths_.latency(path) - path.latency);
  const std::int64_t packets = std::max<std::int64_t>(1, div_ceil(live.size, spec_.mtu.count()));
  ORRERY_CHECK(packets < kNobody, "a message of {} packets", packets);
  live.packets = static_cast<std::uint32_t>(packets);
  live.last_bytes = static_cast<std::uint32_t>(live.size - (packets - 1) * spec_.mtu.count()) + header_;
  live.first = first_hop(message.route);
  if (is_drawing_) {
    const std::vector<std::uint32_t>& ways = sprays(message.route);
    live.first = ways[draw(message.route.value(), sent_++) % ways.size()];
  }
  live.is_released = true;
  if (message.stream.is_valid()) {
    live.before = std::exchange(stream_tail_[message.stream.index()], id);
    if (live.before != kNobody) {
      messages_[live.before].behind = id;
      live.is_released = false;
    }
  }
  live.state = MessageState::kFresh;
  fresh_.push_back(id);
}

bool PacketNet::run_before(Time limit) {
  limit_ = count_ps(limit);
  begin_fresh();
  return batch_.is_on ? run_batch() : run_events(kEventsPerSlice);
}

void PacketNet::begin_fresh() {
  // Only now is the instant over: what was delivered in it no longer stands on its links.
  const std::int64_t now = count_ps(engine_.now());
  if (!fresh_.empty()) choose_way(now);
  for (std::size_t i = 0; i < fresh_.size(); ++i) begin(fresh_[i], now);
  fresh_.clear();
}

void PacketNet::begin(std::uint32_t id, std::int64_t now) {
  Live& live = messages_[id];
  if (counts_packets_ || is_acknowledged_) prepare_control(id);
  break_trains(live, now);
  // On links of its own it is not broken yet, but this one must know when the other has left.
  if (live.before != kNobody && messages_[live.before].state == MessageState::kTrain) {
    break_train(live.before, now);
  }
  claim(live, 1);
  if (batch_.is_on && begin_in_batch(id, now)) return;
  if (live.before != kNobody && !messages_[live.before].is_injected) {
    live.state = MessageState::kQueued;
  } else if (!try_train(id)) {
    start_sending(id, now);
  }
}

void PacketNet::start_sending(std::uint32_t id, std::int64_t now) {
  if (batch_.is_on) return join_in_batch(id, now);
  Live& live = messages_[id];
  if (live.start > now) {
    live.state = MessageState::kQueued;
    queue_->push({live.start, pack_key(PacketKind::kBegin, id), live.generation, 0});
    return;
  }
  live.start = now;
  if (goes_back_) {
    queue_->push({now + count_ps(spec_.timeout), pack_key(PacketKind::kTimer, id, 0), live.generation, 0});
  }
  join_turns(id, now);
}

void PacketNet::complete(std::uint32_t id, std::int64_t now) {
  Live& live = messages_[id];
  live.state = MessageState::kDone;
  live.end = now;
  if (is_acknowledged_) live.end = live.last_news > now ? live.last_news : now + live.news_delay;
  if (live.is_released) deliver_at(id, live.end);
}

void PacketNet::deliver_at(std::uint32_t id, std::int64_t time) {
  const std::uint64_t payload = (std::uint64_t{messages_[id].generation} << 32) | id;
  engine_.schedule(Time{Duration{time}}, engine::Phase::kDelivery, origin_, *this, payload);
  limit_ = std::min(limit_, time);
}

void PacketNet::on_event(std::uint64_t payload) {
  const auto id = static_cast<std::uint32_t>(payload);
  Live& live = messages_[id];
  if (live.generation != static_cast<std::uint32_t>(payload >> 32)) return;  // A train that was broken.
  if (live.state == MessageState::kTrain) end_train(id);
  if (engine_.observer() != nullptr) [[unlikely]] {
    observe(live);
  }
  if (live.behind != kNobody) {
    Live& behind = messages_[live.behind];
    behind.before = kNobody;
    behind.is_released = true;
    if (behind.state == MessageState::kDone) {
      deliver_at(live.behind, std::max(behind.end, count_ps(engine_.now())));
    }
  }
  if (live.stream != kNobody && live.packets > 0 && stream_tail_[live.stream] == id) {
    stream_tail_[live.stream] = kNobody;
  }
  Receiver* receiver = live.receiver;
  const std::uint64_t cookie = live.cookie;
  ++live.generation;  // News of it come too late.
  if (live.in_network > 0) {
    live.state = MessageState::kGhost;
  } else {
    give_back(id);
  }
  receiver->on_delivered(cookie);
}

void PacketNet::give_back(std::uint32_t id) {
  Live& live = messages_[id];
  if (live.packets > 0) claim(live, -1);
  live.lost.clear();
  live.state = MessageState::kFree;
  messages_.give_back(id);
}

void PacketNet::observe(const Live& message) {
  if (message.packets == 0) return;
  engine::Observer& observer = *engine_.observer();
  for_each_hop(message.first, [&](std::uint32_t link) {
    const engine::TrackId track = observer.track("links", graph_.link_name(topology::LinkId{link}));
    observer.span(track, to_text(Bytes{message.size}), Time{Duration{message.start}}, engine_.now(), "");
  });
}

std::vector<LinkCounters> PacketNet::link_counters() const {
  std::vector<LinkCounters> counters = paths_.counters();
  for (std::size_t link = 0; link < counters.size(); ++link) {
    LinkCounters& one = counters[link];
    const Port& port = ports_[link];
    const PortMore& more = more_[link];
    one.bytes = Bytes{static_cast<std::int64_t>(port.packets) * full_bytes_ - more.missing};
    one.packets = port.packets;
    one.drops = more.drops;
    one.marks = more.marks;
    one.pauses = more.pauses;
    const double per_byte =
        port.full_time == 0 ? 0 : static_cast<double>(full_bytes_) / static_cast<double>(port.full_time);
    const auto waited = static_cast<std::int64_t>(static_cast<double>(port.worst_wait) * per_byte);
    one.longest_queue = Bytes{std::max(more.worst_queue, waited)};
  }
  return counters;
}

std::vector<std::string> PacketNet::notes() const {
  const std::vector<LinkCounters> counters = link_counters();
  LinkCounters sum;
  std::size_t worst = 0;
  for (std::size_t link = 0; link < counters.size(); ++link) {
    sum.packets += counters[link].packets;
    sum.drops += counters[link].drops;
    sum.marks += counters[link].marks;
    sum.pauses += counters[link].pauses;
    if (counters[link].longest_queue > counters[worst].longest_queue) worst = link;
  }
  if (sum.drops + sum.marks + sum.pauses == 0) return {};
  std::string text = fmt::format("packet: {} packet hops, {} dropped", sum.packets, sum.drops);
  if (loss_ == Loss::kDrop) text += fmt::format(", {} sent again", resent_);
  if (control_ == Control::kDcqcn) text += fmt::format(", {} marked", sum.marks);
  if (loss_ == Loss::kPfc) text += fmt::format(", {} pauses", sum.pauses);
  const Bytes queue = counters[worst].longest_queue;
  text += queue.count() == 0 ? std::string{", no queues"}
                             : fmt::format(", longest queue {} at {}", to_text(queue),
                                           graph_.link_name(topology::LinkId{worst}));
  return {text};
}

void PacketNet::report_blocked(std::vector<engine::Blocked>& blocked) const {
  for (std::uint32_t id = 0; id < messages_.size(); ++id) {
    const Live& live = messages_[id];
    const bool is_over = live.state == MessageState::kFree || live.state == MessageState::kGhost;
    if (is_over || live.state == MessageState::kDone) continue;
    std::string why = "its packets wait";
    for_each_hop(live.first, [&](std::uint32_t link) {
      const char* what = ports_[link].is_down ? "is down" : ports_[link].is_paused ? "is paused" : nullptr;
      if (is_blocking_ && what == nullptr && !queues_[link].packets.empty()) what = "waits for credit";
      if (what != nullptr) why = fmt::format("{} {}", graph_.link_name(topology::LinkId{link}), what);
    });
    blocked.push_back(
        {"network", fmt::format("message of {} stalled: {}", to_text(Bytes{live.size}), why), {}});
  }
}

NetworkRegistry::Entry packet() {
  return config::describe_model<PacketNet, PacketSpec, NetworkModel, NetworkContext>(
      "packet", "Packets with headers, queues, congestion control, losses and back-pressure.");
}

}  // namespace orrery::network
