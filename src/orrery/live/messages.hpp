// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Messages from rank to rank: sends and receives are matched by (group, source, target, tag) in order. The bytes
/// leave when both are there, as gloo and NCCL do it: a send ends when its message has arrived.
#include <deque>
#include <map>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "orrery/collectives/run/wakefulness.hpp"
#include "orrery/live/arena.hpp"
#include "orrery/live/ending.hpp"
#include "orrery/live/group.hpp"
#include "orrery/network/network_model.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::live {

class Messages final : public Pinned, network::Receiver, engine::Handler {
 public:
  Messages(engine::Engine& engine, network::NetworkModel& network, topology::Router& router,
           const topology::Cluster& cluster, Arena& arena, EndListener& listener,
           collectives::Wakefulness& wakefulness);

  void send(Group& group, std::uint32_t rank, orrery_op& op);
  void receive(Group& group, std::uint32_t rank, orrery_op& op);
  /// Ends an operation with `reason`. What is under way is lost, and its other side told that nobody is there.
  void fail(Group& group, std::uint32_t rank, orrery_op& op, const std::string& reason);
  /// The rank is gone: what it has not sent yet, or not received, is lost. Other sides wait until they time out.
  void withdraw(std::uint32_t rank);
  [[nodiscard]] std::int64_t bytes() const { return bytes_; }
  [[nodiscard]] std::uint64_t count() const { return count_; }

 private:
  using Tag = std::tuple<const Group*, std::uint32_t, std::int32_t>;  // Group, target (member), tag.
  struct Party {
    std::uint32_t rank = 0;
    std::uint32_t member = 0;
    orrery_op* op = nullptr;  // Null when it was told already.
    Duration wake{};          // Of a send.
    std::uint64_t number = 0;  // In order of posting.
  };
  struct Queue {
    std::deque<Party> sends;  // Of all sources, in order of posting.
    std::deque<Party> receives;
  };
  struct Transfer {
    Group* group;
    Party from;
    Party to;
    Time began;
    Bytes size;
    bool is_free = true;
    bool is_lost = false;  // Somebody has given up, or is gone: its arrival means nothing.
  };

  /// Where it was before it was matched.
  static void put_back(std::deque<Party>& parties, const Party& party);
  void match(Group& group, Queue& queue);
  void start(Group& group, const Party& from, const Party& to);
  void leave(std::uint64_t transfer);
  void arrived(std::uint64_t transfer);
  void release(std::uint64_t transfer);
  /// Of a party that is still there.
  void end(Party& party, const std::string& reason);
  void on_delivered(std::uint64_t cookie) override;
  void on_event(std::uint64_t payload) override;
  [[nodiscard]] const topology::DeviceSpec& device(std::uint32_t rank) const;

  engine::Engine& engine_;
  network::NetworkModel& network_;
  topology::Router& router_;
  const topology::Cluster& cluster_;
  Arena& arena_;
  EndListener& listener_;
  collectives::Wakefulness& wakefulness_;
  engine::OriginId origin_;
  std::map<Tag, Queue> queues_;
  std::vector<Transfer> transfers_;
  std::vector<std::uint64_t> free_;
  std::map<std::pair<std::uint32_t, std::uint32_t>, network::StreamId> streams_;
  std::uint64_t next_number_ = 0;
  std::int64_t bytes_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace orrery::live
