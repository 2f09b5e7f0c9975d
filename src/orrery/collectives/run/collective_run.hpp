// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Drives one schedule over a network model: every rank starts when it arrives, sends what its lanes say, and is
/// done when its lanes are through and its own messages have arrived, or are in the hands of a kernel.
#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "orrery/collectives/run/asking.hpp"
#include "orrery/collectives/run/run_trace.hpp"
#include "orrery/collectives/run/send_buffer.hpp"
#include "orrery/collectives/schedule.hpp"
#include "orrery/engine/engine.hpp"
#include "orrery/network/network_model.hpp"

namespace orrery::collectives {

/// What a message costs beyond the network. Defaults are free.
struct EndpointCosts {
  Duration launch{};            ///< From a rank's arrival to its first action.
  Duration send_overhead{};     ///< A lane pauses this long before each message.
  Duration receive_overhead{};  ///< And this long after each one it took.
  Bandwidth reduce_bandwidth{};  ///< Speed of adding received bytes; 0 = free.
  double wire_scale = 1.0;      ///< Bytes on the wire per payload byte (protocol flags, achieved efficiency).
  Bytes send_buffer{};          ///< Of a connection: the sender has done with what finds room in it.
};

/// One direction of two ranks' connection.
struct Connection {
  network::StreamId stream;
  std::unique_ptr<SendBuffer> buffer;  ///< Null where senders wait for arrivals.
};

/// The connections of a group's members, so that runs of one group use the same ones, one after the other.
class Connections {
 public:
  [[nodiscard]] Connection& between(Rank from, Rank to, std::uint32_t lane) {
    return connections_[(std::uint64_t{lane} << 48) | (std::uint64_t{from} << 24) | to];
  }

 private:
  std::unordered_map<std::uint64_t, Connection> connections_;
};

class CollectiveRun final : public Pinned, network::Receiver, engine::Handler, engine::Watch {
 public:
  /// Lanes and channels of a schedule at the start, as a value: made once for what runs often.
  class Wiring;
  [[nodiscard]] static std::shared_ptr<const Wiring> wire(const Schedule& schedule);
  struct Setup {
    engine::Engine& engine;
    network::NetworkModel& network;
    topology::Router& router;
    const Schedule& schedule;
    const Layout& layout;
    std::vector<topology::NodeId> nodes;  ///< Of each participant.
    std::vector<EndpointCosts> costs;     ///< Of each participant, or one for all.
    std::string name;                     ///< For reports: "all_reduce (ring)".
    std::vector<std::string> names{};   ///< Of the participants; empty = "rank 0", "rank 1", ..., "switch 0".
    std::string track_group = "ranks";  ///< Of the participants' tracks in a timeline.
    engine::OriginId origin{};          ///< Of its events; a new one when invalid. Runs may share one.
    Connections* connections = nullptr;      ///< Kept from run to run; null = every run opens its own.
    std::shared_ptr<const Wiring> wiring{};  ///< Of the schedule; made anew when null.
    bool is_watched = true;  ///< Whether it reports who waits in a deadlock; else the caller does.
    /// Messages wait until they are asked for, see Asking. Whoever comes later than another by more than this, and the
    /// latency between them, comes late; nobody does when it is the longest of all.
    std::optional<Duration> notice{};
  };
  /// Told when a rank is done, at that time.
  class Listener {
   public:
    virtual void on_rank_done(Rank rank) = 0;

   protected:
    ~Listener() = default;
  };

  explicit CollectiveRun(Setup setup, Listener* listener = nullptr);
  ~CollectiveRun();

  /// Rank `rank` calls the collective now, and begins after its launch and `more`. Once per rank; switches arrive by
  /// themselves with the first rank.
  void arrive(Rank rank, Duration more = {}) { arrive(rank, more, setup_.engine.now()); }
  /// It called earlier, at `called`, and has launched since, but sends nothing before now.
  void arrive(Rank rank, Duration more, Time called);
  /// The rank has given up, or is gone: what it has not sent yet it never sends.
  void withdraw(Rank rank) {
    if (asking_) asking_->withdraw(rank);
  }
  [[nodiscard]] bool is_done(Rank rank) const { return participants_[rank].done != kTimeMax; }
  /// kTimeMax while it is not.
  [[nodiscard]] Time done(Rank rank) const { return participants_[rank].done; }
  /// When the last rank was done.
  [[nodiscard]] Time finish() const;
  [[nodiscard]] std::uint64_t messages() const { return messages_; }
  /// Bytes handed to the network.
  [[nodiscard]] Bytes wire_bytes() const { return wire_bytes_; }

 private:
  static constexpr std::uint32_t kNone = ~std::uint32_t{0};
  /// One peer of one lane: messages in from it, and the way out to it.
  struct Channel {
    std::uint32_t lane = 0;     // That owns it.
    std::uint32_t far = kNone;  // The peer's channel back to this lane.
    std::uint32_t arrived = 0;  // Messages that nobody has received yet.
    topology::RouteId route;    // Looked up at the first send.
    network::StreamId stream;
    SendBuffer* buffer = nullptr;  // Of the way out.
  };
  struct Lane {
    std::uint64_t next = 0;
    std::uint64_t length = 0;
    std::uint32_t first_channel = 0;
    std::uint32_t waiting = kNone;  // Channel it waits on.
    Time waits_since;
    Rank owner = 0;
    std::uint32_t number = 0;
    bool paused = false;  // An overhead is running; the action it belongs to is paid when it ends.
  };
  struct Participant {
    Time arrived = kTimeMax;
    Time done = kTimeMax;
    std::uint32_t first_lane = 0;
    std::uint32_t lanes = 0;
    std::uint64_t open = 0;  // Lanes under way and messages in flight.
  };

  [[nodiscard]] const EndpointCosts& costs(Rank rank) const {
    return setup_.costs.size() == 1 ? setup_.costs[0] : setup_.costs[rank];
  }
  [[nodiscard]] std::string name_of(Rank participant) const;
  void connect(Channel& channel);
  void go(Rank rank);
  /// Runs the lane until it waits, pauses or ends.
  void proceed(std::uint32_t lane);
  void post(Lane& lane, std::uint32_t channel, Bytes payload);
  void send(std::uint32_t channel, Bytes payload);
  void hand_over(const Channel& channel, Bytes size);
  /// Something has arrived on the channel: whether that completes a message. Tells senders who have done.
  bool is_whole(const Channel& channel);
  /// Messages that waited for the rank may go, unless its own go first.
  void release(Rank rank);
  /// Whether the next message on the channel may not be sent yet.
  [[nodiscard]] bool must_wait(std::uint32_t channel) const;
  void send_held(std::uint32_t channel);
  [[nodiscard]] Rank owner(std::uint32_t channel) const { return lanes_[channels_[channel].lane].owner; }
  /// Pauses the lane when `cost` is not zero; true when it did.
  bool pause(std::uint32_t lane, Duration cost);
  void close(Rank rank);
  void on_delivered(std::uint64_t channel) override;
  void on_event(std::uint64_t payload) override;
  void trace_arrival(std::uint32_t channel, Rank sender);
  void report_blocked(std::vector<engine::Blocked>& blocked) const override;

  Setup setup_;
  Listener* listener_;
  engine::OriginId origin_;
  bool is_free_;  // No endpoint costs anywhere: the common, fast case.
  std::vector<Participant> participants_;
  std::vector<Lane> lanes_;
  std::vector<Channel> channels_;
  std::vector<std::unique_ptr<SendBuffer>> own_buffers_;  // Where connections are not kept.
  std::unique_ptr<Asking> asking_;                        // Null where messages leave unasked.
  std::unique_ptr<RunTrace> trace_;  // Null unless observed.
  std::uint64_t messages_ = 0;
  Bytes wire_bytes_;
};

class CollectiveRun::Wiring {
 public:
  explicit Wiring(const Schedule& schedule);
  [[nodiscard]] std::size_t channels() const { return channels_.size(); }

 private:
  friend class CollectiveRun;
  void build_lanes(const Schedule& schedule);
  void connect_channels(const Schedule& schedule);

  std::vector<Participant> participants_;
  std::vector<Lane> lanes_;
  std::vector<Channel> channels_;
};

}  // namespace orrery::collectives
