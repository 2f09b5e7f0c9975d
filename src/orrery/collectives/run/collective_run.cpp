// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/run/collective_run.hpp"

#include <algorithm>
#include <cmath>

#include "orrery/base/text.hpp"

namespace orrery::collectives {
namespace {

/// Events of a run: a lane goes on after a pause, or a rank after its launch.
constexpr std::uint64_t kLaunch = std::uint64_t{1} << 40;

}  // namespace

CollectiveRun::CollectiveRun(Setup setup, Listener* listener)
    : setup_{std::move(setup)},
      listener_{listener},
      origin_{setup_.origin.is_valid() ? setup_.origin : setup_.engine.add_origin(setup_.name)} {
  const std::uint32_t count = setup_.schedule.participants();
  ORRERY_CHECK(setup_.nodes.size() == count, "{} nodes for {} participants", setup_.nodes.size(), count);
  ORRERY_CHECK(setup_.costs.size() == 1 || setup_.costs.size() == count, "{} costs for {} participants",
               setup_.costs.size(), count);
  ORRERY_CHECK(setup_.layout.chunk_count() == setup_.schedule.chunk_count(), "layout and schedule disagree");
  is_free_ = std::ranges::all_of(setup_.costs, [](const EndpointCosts& cost) {
    return cost.send_overhead == Duration{} && cost.receive_overhead == Duration{} &&
           cost.reduce_bandwidth == Bandwidth{};
  });
  Wiring wiring = setup_.wiring ? *setup_.wiring : Wiring{setup_.schedule};
  participants_ = std::move(wiring.participants_);
  lanes_ = std::move(wiring.lanes_);
  channels_ = std::move(wiring.channels_);
  setup_.router.expect(channels_.size());
  setup_.network.expect(channels_.size());
  if (setup_.engine.observer() != nullptr) {
    trace_ = std::make_unique<RunTrace>(*setup_.engine.observer(), channels_.size(), setup_.track_group);
  }
  if (setup_.notice) {
    asking_ = std::make_unique<Asking>(count, *setup_.notice == Duration::max() ? 0 : channels_.size());
  }
  if (setup_.is_watched) setup_.engine.add_watch(*this);
}

CollectiveRun::~CollectiveRun() {
  if (setup_.is_watched) setup_.engine.remove_watch(*this);
}

std::string CollectiveRun::name_of(Rank participant) const {
  if (participant < setup_.names.size()) return setup_.names[participant];
  const Rank ranks = setup_.schedule.ranks();
  return participant < ranks ? fmt::format("rank {}", participant)
                             : fmt::format("switch {}", participant - ranks);
}

void CollectiveRun::connect(Channel& channel) {
  const Lane& lane = lanes_[channel.lane];
  const Rank peer = lanes_[channels_[channel.far].lane].owner;
  channel.route = setup_.router.route(setup_.nodes[lane.owner], setup_.nodes[peer]);
  const bool is_buffered = costs(lane.owner).send_buffer != Bytes{};
  if (setup_.connections == nullptr) {
    channel.stream = setup_.network.open_stream();
    if (!is_buffered) return;
    own_buffers_.push_back(std::make_unique<SendBuffer>());
    channel.buffer = own_buffers_.back().get();
    return;
  }
  Connection& kept = setup_.connections->between(lane.owner, peer, lane.number);
  if (!kept.stream.is_valid()) kept.stream = setup_.network.open_stream();
  if (is_buffered && !kept.buffer) kept.buffer = std::make_unique<SendBuffer>();
  channel.stream = kept.stream;
  channel.buffer = kept.buffer.get();
}

std::shared_ptr<const CollectiveRun::Wiring> CollectiveRun::wire(const Schedule& schedule) {
  return std::make_shared<const Wiring>(schedule);
}

CollectiveRun::Wiring::Wiring(const Schedule& schedule) {
  build_lanes(schedule);
  connect_channels(schedule);
}

void CollectiveRun::Wiring::build_lanes(const Schedule& schedule) {
  const std::uint32_t count = schedule.participants();
  participants_.resize(count);
  for (Rank rank = 0; rank < count; ++rank) {
    Participant& participant = participants_[rank];
    participant.first_lane = static_cast<std::uint32_t>(lanes_.size());
    participant.lanes = schedule.lanes(rank);
    for (std::uint32_t number = 0; number < participant.lanes; ++number) {
      Lane lane;
      lane.length = schedule.length(rank, number);
      lane.first_channel = static_cast<std::uint32_t>(channels_.size());
      lane.owner = rank;
      lane.number = number;
      const std::size_t peers = schedule.peers(rank, number).size();
      Channel channel;
      channel.lane = static_cast<std::uint32_t>(lanes_.size());
      channels_.resize(channels_.size() + peers, channel);
      lanes_.push_back(lane);
    }
  }
}

void CollectiveRun::Wiring::connect_channels(const Schedule& schedule) {
  // Every pair is met twice. The lower rank leaves its channel with the higher one, lane by lane; when the higher
  // one's turn comes it has a note from each peer below it. Linear in the number of channels.
  std::uint32_t most_lanes = 0;
  for (const Participant& participant : participants_) most_lanes = std::max(most_lanes, participant.lanes);
  struct Note {
    Rank from;
    std::uint32_t channel;
  };
  std::vector<std::vector<Note>> notes(participants_.size());
  std::vector<std::uint32_t> channel_from(participants_.size(), kNone);
  std::size_t joined = 0;
  for (std::uint32_t number = 0; number < most_lanes; ++number) {
    for (Rank rank = 0; rank < participants_.size(); ++rank) {
      if (number >= participants_[rank].lanes) continue;
      for (const Note& note : notes[rank]) channel_from[note.from] = note.channel;
      std::uint32_t channel = lanes_[participants_[rank].first_lane + number].first_channel;
      for (const Rank peer : schedule.peers(rank, number)) {
        if (peer > rank) {
          notes[peer].push_back({rank, channel});
        } else {
          const std::uint32_t far = channel_from[peer];
          ORRERY_CHECK(far != kNone, "rank {} lists {} as a peer, not the other way round", rank, peer);
          channels_[channel].far = far;
          channels_[far].far = channel;
          ++joined;
        }
        ++channel;
      }
      for (const Note& note : notes[rank]) channel_from[note.from] = kNone;
      notes[rank].clear();
    }
  }
  ORRERY_CHECK(2 * joined == channels_.size(), "a peer list is not mutual: {} pairs of {} channels", joined,
               channels_.size());
}

void CollectiveRun::arrive(Rank rank, Duration more, Time called) {
  Participant& participant = participants_[rank];
  ORRERY_CHECK(participant.arrived == kTimeMax, "rank {} arrived twice", rank);
  participant.arrived = setup_.engine.now();
  participant.open = participant.lanes + 1;  // The one stands for "has not gone yet".
  if (rank < setup_.schedule.ranks()) {
    for (Rank extra = setup_.schedule.ranks(); extra < participants_.size(); ++extra) {
      if (participants_[extra].arrived == kTimeMax) arrive(extra, {}, called);
    }
  }
  const Duration launch = rank < setup_.schedule.ranks() ? costs(rank).launch + more : Duration{};
  const Time ready = called + launch;  // Who waits for others to call gets ready meanwhile.
  if (asking_) asking_->call(rank, ready);
  if (ready <= setup_.engine.now()) {
    go(rank);
  } else {
    setup_.engine.schedule(ready, engine::Phase::kWake, origin_, *this, kLaunch + rank);
  }
}

void CollectiveRun::go(Rank rank) {
  const Participant& participant = participants_[rank];
  if (asking_) asking_->go(rank);
  for (std::uint32_t lane = 0; lane < participant.lanes; ++lane) proceed(participant.first_lane + lane);
  if (asking_) release(rank);
  close(rank);
}

void CollectiveRun::release(Rank rank) {
  const Participant& participant = participants_[rank];
  const std::uint32_t beyond = participant.first_lane + participant.lanes;
  const std::size_t first = participant.lanes > 0 ? lanes_[participant.first_lane].first_channel : channels_.size();
  const std::size_t end = beyond < lanes_.size() ? lanes_[beyond].first_channel : channels_.size();
  for (auto channel = static_cast<std::uint32_t>(first); channel < end; ++channel) {
    send_held(channels_[channel].far);
  }
}

bool CollectiveRun::must_wait(std::uint32_t channel) const {
  const std::uint32_t back = channels_[channel].far;
  const Rank from = owner(channel);
  const Rank to = owner(back);
  if (!asking_->has_gone(to) || asking_->has_withdrawn(from)) return true;
  if (*setup_.notice == Duration::max()) return false;
  if (!asking_->is_ahead(channel, back)) return false;
  // The other one goes first when it comes so much later that it has been asked by then.
  const Duration delay = asking_->delay(to, from);
  if (delay <= *setup_.notice) return false;
  const topology::RouteId asks = setup_.router.route(setup_.nodes[from], setup_.nodes[to]);
  return delay > *setup_.notice + setup_.router.get(asks).latency;
}

void CollectiveRun::send_held(std::uint32_t channel) {
  while (asking_->holds(channel) && !must_wait(channel)) send(channel, asking_->take(channel));
}

void CollectiveRun::proceed(std::uint32_t index) {
  Lane& lane = lanes_[index];
  while (lane.next < lane.length) {
    const Action action = setup_.schedule.action(lane.owner, lane.number, lane.next);
    const std::uint32_t channel = lane.first_channel + action.peer;
    const Bytes payload = setup_.layout.bytes(action.chunks, setup_.schedule.chunk_list());
    if (action.kind == ActionKind::kSend) {
      if (!is_free_ && !lane.paused && pause(index, costs(lane.owner).send_overhead)) return;
      lane.paused = false;
      ++lane.next;
      post(lane, channel, payload);
      continue;
    }
    if (!lane.paused) {
      if (channels_[channel].arrived == 0) {
        lane.waiting = channel;
        lane.waits_since = setup_.engine.now();
        return;
      }
      --channels_[channel].arrived;
      if (!is_free_) {
        const EndpointCosts& cost = costs(lane.owner);
        Duration spent = cost.receive_overhead;
        if (action.kind == ActionKind::kReceiveReduce && cost.reduce_bandwidth != Bandwidth{}) {
          spent += transfer_time(payload, cost.reduce_bandwidth);
        }
        if (pause(index, spent)) return;
      }
    }
    lane.paused = false;
    ++lane.next;
  }
  close(lane.owner);
}

bool CollectiveRun::pause(std::uint32_t lane, Duration cost) {
  if (cost == Duration{}) return false;
  lanes_[lane].paused = true;
  setup_.engine.schedule(setup_.engine.now() + cost, engine::Phase::kWake, origin_, *this, lane);
  return true;
}

void CollectiveRun::post(Lane& lane, std::uint32_t index, Bytes payload) {
  ++participants_[lane.owner].open;
  if (asking_ && must_wait(index)) {
    asking_->hold(index, payload);
  } else {
    send(index, payload);
  }
}

void CollectiveRun::send(std::uint32_t index, Bytes payload) {
  Channel& channel = channels_[index];
  const Lane& lane = lanes_[channel.lane];
  if (asking_) asking_->sent(index);
  if (!channel.stream.is_valid()) connect(channel);
  const double scale = costs(lane.owner).wire_scale;
  Bytes size = payload;
  if (scale != 1.0) {
    size = Bytes{static_cast<std::int64_t>(std::llround(static_cast<double>(payload.count()) * scale))};
  }
  ++messages_;
  wire_bytes_ += size;
  if (trace_) trace_->sent(channel.far, setup_.engine.now());
  const Rank sender = lane.owner;
  if (channel.buffer == nullptr) return hand_over(channel, size);
  const Bytes room = costs(sender).send_buffer;
  const Bytes most = SendBuffer::piece(room);
  for (Bytes left = size;; left = left - most) {
    const bool is_last = left <= most;
    channel.buffer->send(is_last ? left : most, is_last);
    hand_over(channel, is_last ? left : most);
    if (is_last) break;
  }
  if (channel.buffer->has_done(room, {this, sender})) close(sender);
}

void CollectiveRun::hand_over(const Channel& channel, Bytes size) {
  setup_.network.send({.route = channel.route,
                       .size = size,
                       .stream = channel.stream,
                       .receiver = this,
                       .cookie = channel.far});
}

bool CollectiveRun::is_whole(const Channel& channel) {
  SendBuffer* const buffer = channels_[channel.far].buffer;
  if (buffer == nullptr) return true;
  const bool is_last = buffer->arrive();
  // Before the message itself has an effect: its sender may have done with it long ago.
  while (const std::optional<SendBuffer::Sender> sender = buffer->next_done()) sender->run->close(sender->rank);
  return is_last;
}

void CollectiveRun::on_delivered(std::uint64_t cookie) {
  const auto index = static_cast<std::uint32_t>(cookie);
  Channel& channel = channels_[index];
  if (!is_whole(channel)) return;
  const Rank sender = lanes_[channels_[channel.far].lane].owner;
  ++channel.arrived;
  const std::uint32_t waiter = channel.lane;
  if (trace_) [[unlikely]] {
    trace_arrival(index, sender);
  }
  if (asking_) {
    asking_->delivered(channel.far);
    send_held(index);
  }
  if (channels_[channel.far].buffer == nullptr) close(sender);
  if (lanes_[waiter].waiting == index) {
    lanes_[waiter].waiting = kNone;
    proceed(waiter);
  }
}

void CollectiveRun::trace_arrival(std::uint32_t index, Rank sender) {
  const Lane& lane = lanes_[channels_[index].lane];
  const std::string from = name_of(sender);
  const std::string to = name_of(lane.owner);
  trace_->arrived(index, from, to, setup_.engine.now());
  if (lane.waiting == index) {
    trace_->waited(to, fmt::format("wait for {}", from), lane.waits_since, setup_.engine.now());
  }
}

void CollectiveRun::on_event(std::uint64_t payload) {
  if (payload >= kLaunch) {
    go(static_cast<Rank>(payload - kLaunch));
  } else {
    proceed(static_cast<std::uint32_t>(payload));
  }
}

void CollectiveRun::close(Rank rank) {
  Participant& participant = participants_[rank];
  if (--participant.open > 0) return;
  participant.done = setup_.engine.now();
  if (trace_) {
    trace_->done(name_of(rank), setup_.name, participant.arrived, participant.done);
  }
  if (listener_ != nullptr && rank < setup_.schedule.ranks()) listener_->on_rank_done(rank);
}

Time CollectiveRun::finish() const {
  Time last{};
  for (Rank rank = 0; rank < setup_.schedule.ranks(); ++rank) last = std::max(last, participants_[rank].done);
  return last;
}

void CollectiveRun::report_blocked(std::vector<engine::Blocked>& blocked) const {
  const bool has_begun =
      std::ranges::any_of(participants_, [](const Participant& one) { return one.arrived != kTimeMax; });
  if (!has_begun) return;
  for (Rank rank = 0; rank < participants_.size(); ++rank) {
    const Participant& participant = participants_[rank];
    if (participant.arrived == kTimeMax) {
      blocked.push_back({name_of(rank), fmt::format("never called {}", setup_.name), {}});
      continue;
    }
    for (std::uint32_t i = 0; i < participant.lanes; ++i) {
      const Lane& lane = lanes_[participant.first_lane + i];
      if (lane.waiting == kNone) continue;
      const Action action = setup_.schedule.action(rank, lane.number, lane.next);
      const Bytes payload = setup_.layout.bytes(action.chunks, setup_.schedule.chunk_list());
      const std::string peer = name_of(lanes_[channels_[channels_[lane.waiting].far].lane].owner);
      blocked.push_back({name_of(rank),
                         fmt::format("{}: receive {} from {}, lane {}, action {} of {}", setup_.name,
                                     orrery::to_text(payload), peer, lane.number, lane.next, lane.length),
                         {peer}});
    }
  }
}

}  // namespace orrery::collectives
