// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Sends and receives. The n-th send of (source, target, tag) meets the n-th receive. A message of at most the eager
/// limit leaves when it is sent, a larger one when its receive is there too. A send is done when its message has
/// arrived, a receive when it has been taken.
#include <cstdint>
#include <deque>
#include <map>
#include <tuple>
#include <vector>

#include "orrery/base/pool.hpp"
#include "orrery/workload/communication.hpp"

namespace orrery::workload {

class MessageBoard final : public Pinned, network::Receiver, engine::Handler {
 public:
  struct Setup {
    engine::Engine& engine;
    network::NetworkModel& network;
    topology::Router& router;
    const topology::Cluster& cluster;
    CommunicationListener& listener;
    collectives::Wakefulness& wakefulness;
    Rank ranks = 0;
    Bytes eager_limit;
  };
  explicit MessageBoard(const Setup& setup);

  /// `what` is a send or a receive of `rank` and may go away afterwards. SimulationError for a peer that is not there,
  /// or sizes that differ.
  void post(Rank rank, Slot slot, const Communication& what);
  [[nodiscard]] std::uint64_t in_flight() const { return in_flight_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }
  [[nodiscard]] Bytes bytes() const { return bytes_; }

 private:
  struct Party {
    Rank rank = 0;
    Slot slot = kNoSlot;
    std::uint64_t id = 0;
    Bytes size;
    std::uint32_t transfer = kNoSlot;  // Of a send.
    Duration wake{};                   // Likewise.
  };
  struct Queue {
    std::deque<Party> sends{};  // That no receive has met.
    std::deque<Party> receives{};
  };
  struct Transfer {
    Party from{};
    Party to{};
    Rank target = 0;
    Time began{};
    bool is_matched = false;
    bool has_left = false;
    bool has_arrived = false;
    bool is_eager = false;
  };
  using Key = std::tuple<Rank, Rank, std::int64_t>;  // Source, target, tag.

  void match(const Key& key, Queue& queue);
  void begin(std::uint32_t transfer);
  void leave(std::uint32_t transfer);
  void take(std::uint32_t transfer);
  void taken(std::uint32_t transfer);
  void end(const Party& party);
  void on_delivered(std::uint64_t cookie) override;
  void on_event(std::uint64_t payload) override;
  [[nodiscard]] const topology::DeviceSpec& device(Rank rank) const;

  Setup setup_;
  engine::OriginId origin_;
  std::map<Key, Queue> queues_;
  Pool<Transfer> transfers_;
  std::map<std::pair<Rank, Rank>, network::StreamId> streams_;
  std::uint64_t in_flight_ = 0;
  std::uint64_t count_ = 0;
  Bytes bytes_;
};

}  // namespace orrery::workload
