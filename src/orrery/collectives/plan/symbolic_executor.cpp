// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/symbolic_executor.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <map>
#include <tuple>
#include <utility>

#include "orrery/base/rng.hpp"
#include "orrery/collectives/plan/symbolic_memory.hpp"

namespace orrery::collectives::plan {

namespace {

struct Message {
  ChunkRange chunks;
  std::vector<std::uint64_t> data;
};

constexpr std::size_t kNobody = static_cast<std::size_t>(-1);

/// Messages of one sender, receiver and lane, in order.
struct Channel {
  std::deque<Message> unread;
  std::size_t waiting_lane = kNobody;
};

struct LaneState {
  Rank rank = 0;
  std::uint32_t lane = 0;
  std::uint64_t next = 0;
  std::uint64_t length = 0;
  std::vector<Rank> peers;
  std::vector<std::size_t> outgoing;  // Channel by peer index.
  std::vector<std::size_t> incoming;
};

class Executor {
 public:
  Executor(const Schedule& schedule, const PlanRequest& request, std::uint64_t seed)
      : schedule_{schedule},
        memory_{request, schedule.participants(), schedule.chunk_count()},
        rng_{seed, "symbolic"} {
    connect();
  }

  std::string run() {
    std::vector<std::size_t> ready(lanes_.size());
    for (std::size_t i = 0; i < ready.size(); ++i) ready[i] = i;
    while (!ready.empty() && problem_.empty()) {
      const auto pick = static_cast<std::size_t>(rng_.next() % ready.size());
      const std::size_t lane = std::exchange(ready[pick], ready.back());
      ready.pop_back();
      if (advance(lane, ready)) ready.push_back(lane);
    }
    if (problem_.empty()) problem_ = leftovers();
    if (problem_.empty()) problem_ = memory_.final_problem();
    return problem_;
  }

 private:
  void connect() {
    std::map<std::tuple<Rank, Rank, std::uint32_t>, std::size_t> ids;
    const auto channel = [&](Rank source, Rank target, std::uint32_t lane) {
      return ids.try_emplace({source, target, lane}, ids.size()).first->second;
    };
    for (Rank rank = 0; rank < schedule_.participants(); ++rank) {
      for (std::uint32_t lane = 0; lane < schedule_.lanes(rank); ++lane) {
        LaneState state{rank, lane, 0, schedule_.length(rank, lane), schedule_.peers(rank, lane), {}, {}};
        for (const Rank peer : state.peers) {
          state.outgoing.push_back(channel(rank, peer, lane));
          state.incoming.push_back(channel(peer, rank, lane));
        }
        lanes_.push_back(std::move(state));
      }
    }
    channels_.resize(ids.size());
  }

  /// Does a few actions of a lane. True if it can go on.
  bool advance(std::size_t id, std::vector<std::size_t>& ready) {
    LaneState& lane = lanes_[id];
    const std::uint64_t burst = 1 + rng_.next() % 4;
    for (std::uint64_t i = 0; i < burst; ++i) {
      if (lane.next == lane.length) return false;
      const Action action = schedule_.action(lane.rank, lane.lane, lane.next);
      if (action.peer >= lane.peers.size()) return fail(lane, "has no such peer");
      if (action.kind == ActionKind::kSend) {
        send(lane, action, ready);
      } else {
        Channel& channel = channels_[lane.incoming[action.peer]];
        if (channel.unread.empty()) {
          channel.waiting_lane = id;
          return false;
        }
        receive(lane, action, channel);
      }
      if (!problem_.empty()) return false;
      ++lane.next;
    }
    return true;
  }

  void send(const LaneState& lane, const Action& action, std::vector<std::size_t>& ready) {
    Channel& channel = channels_[lane.outgoing[action.peer]];
    Message message{action.chunks, {}};
    if (!memory_.read(lane.rank, ids(action.chunks), message.data)) {
      fail(lane, "sends what it does not have");
      return;
    }
    channel.unread.push_back(std::move(message));
    if (channel.waiting_lane != kNobody) ready.push_back(std::exchange(channel.waiting_lane, kNobody));
  }

  void receive(const LaneState& lane, const Action& action, Channel& channel) {
    const Message& message = channel.unread.front();
    if (!std::ranges::equal(ids(message.chunks), ids(action.chunks))) {
      fail(lane, "receives other chunks than it expects");
      return;
    }
    const bool adds = action.kind == ActionKind::kReceiveReduce;
    if (!memory_.write(lane.rank, ids(action.chunks), message.data, adds)) {
      fail(lane, "counts a contribution twice");
      return;
    }
    channel.unread.pop_front();
  }

  /// The chunk ids of a range, in a buffer that the next two calls leave alone.
  std::span<const std::uint32_t> ids(const ChunkRange& range) {
    if (range.listed) return schedule_.chunk_list().subspan(range.first, range.count);
    std::vector<std::uint32_t>& buffer = buffers_[turn_++ % buffers_.size()];
    buffer.resize(range.count);
    for (std::uint32_t i = 0; i < range.count; ++i) buffer[i] = range.first + i;
    return buffer;
  }

  bool fail(const LaneState& lane, std::string_view what) {
    problem_ = fmt::format("rank {} lane {} action {} {}", lane.rank, lane.lane, lane.next, what);
    return false;
  }

  [[nodiscard]] std::string leftovers() const {
    for (const LaneState& lane : lanes_) {
      if (lane.next < lane.length) {
        return fmt::format("rank {} lane {} waits forever at action {}", lane.rank, lane.lane, lane.next);
      }
    }
    const auto is_read = [](const Channel& channel) { return channel.unread.empty(); };
    return std::ranges::all_of(channels_, is_read) ? "" : "a message is never read";
  }

  const Schedule& schedule_;
  SymbolicMemory memory_;
  Rng rng_;
  std::vector<LaneState> lanes_;
  std::vector<Channel> channels_;
  std::array<std::vector<std::uint32_t>, 3> buffers_;
  std::size_t turn_ = 0;
  std::string problem_;
};

}  // namespace

std::string symbolic_problem(const Schedule& schedule, const PlanRequest& request, std::uint64_t seed) {
  if (schedule.ranks() != request.ranks) return "has another number of ranks";
  return Executor{schedule, request, seed}.run();
}

}  // namespace orrery::collectives::plan
