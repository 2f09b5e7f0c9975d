// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the packet model keeps of ports, messages and senders, and what it packs into its events.
#include <cstdint>
#include <deque>
#include <limits>
#include <vector>

#include "orrery/network/models/packet_queue.hpp"
#include "orrery/network/network_model.hpp"

namespace orrery::network::detail {

inline constexpr std::uint32_t kNobody = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::int64_t kNoTime = std::numeric_limits<std::int64_t>::max();

/// A place in the pool of routes: the link, and whether it is the route's last.
inline constexpr std::uint32_t kLastHop = std::uint32_t{1} << 31;

/// Of `PacketEvent::info`: bytes on the wire, and above them flags.
inline constexpr std::uint32_t kBytesMask = (1U << 24) - 1;
inline constexpr std::uint32_t kAtTarget = 1U << 24;  ///< Has crossed its last link.
inline constexpr std::uint32_t kMarked = 1U << 25;    ///< Met a long queue (ECN).
inline constexpr std::uint32_t kLocal = 1U << 26;     ///< Is on its first link.
inline constexpr std::uint32_t kLost = 1U << 27;      ///< Of news to a sender: the packet was lost.
inline constexpr std::uint32_t kFinal = 1U << 28;     ///< The last of its message.

/// What happens; at equal times in this order. A port serves packets under way before those of its own host.
enum class PacketKind : std::uint64_t { kPacket, kNews, kFlow, kPort, kBegin, kTimer, kSender };

inline constexpr int kKindShift = 60;
inline constexpr std::uint32_t kMostMessages = 1U << 28;

[[nodiscard]] constexpr std::uint64_t pack_key(PacketKind kind, std::uint32_t who, std::uint32_t number = 0) {
  return (static_cast<std::uint64_t>(kind) << kKindShift) | (std::uint64_t{who} << 32) | number;
}
[[nodiscard]] constexpr PacketKind kind_of(std::uint64_t key) {
  return static_cast<PacketKind>(key >> kKindShift);
}
[[nodiscard]] constexpr std::uint32_t who_of(std::uint64_t key) {
  return static_cast<std::uint32_t>(key >> 32) & (kMostMessages - 1);
}
[[nodiscard]] constexpr std::uint32_t number_of(std::uint64_t key) { return static_cast<std::uint32_t>(key); }

/// Packets on the way from one port to the next, in order; only the first has an event.
class PacketRing {
 public:
  void push(const PacketEvent& event) {
    if (count_ == slots_.size()) grow();
    slots_[(first_ + count_++) & (slots_.size() - 1)] = event;
  }
  [[nodiscard]] PacketEvent pop() {
    const PacketEvent event = slots_[first_];
    first_ = (first_ + 1) & (slots_.size() - 1);
    --count_;
    return event;
  }
  [[nodiscard]] std::size_t size() const { return count_; }
  /// Where the next one to pop is.
  [[nodiscard]] const PacketEvent* front() const { return slots_.data() + first_; }

 private:
  void grow() {
    std::vector<PacketEvent> larger(slots_.empty() ? 8 : 2 * slots_.size());
    for (std::size_t i = 0; i < count_; ++i) larger[i] = slots_[(first_ + i) & (slots_.size() - 1)];
    slots_.swap(larger);
    first_ = 0;
  }
  std::vector<PacketEvent> slots_;  // A power of two.
  std::size_t first_ = 0;
  std::size_t count_ = 0;
};

/// One direction of a link with the queue in front of it. Two neighbouring cache lines: each packet touches them.
struct alignas(128) Port {
  std::int64_t free = 0;       ///< When all it has accepted is sent.
  std::int64_t full_time = 0;  ///< To send a full packet.
  std::int64_t latency = 0;
  std::int64_t head_time = 0;  ///< To send what the next node needs to see before it sends on.
  std::int64_t worst_wait = 0;
  std::uint64_t packets = 0;
  std::uint32_t leaving = 0;  ///< Packets that it sends or has sent and that are not at the next port.
  bool is_cut = false;        ///< The node behind it sends on before it has all of a packet.
  bool is_down = false;
  bool is_paused = false;    ///< By the node behind it (PFC).
  bool wants_pause = false;  ///< The node behind it has said so.
  bool wakes = false;        ///< An event at `free` is pending (blocking ports).
  bool has_turns = false;    ///< Its host has packets of its own to send, or those under way wait for them.
  bool was_own = false;      ///< The last packet by turns was the host's own.
  alignas(64) PacketRing ring;
};
static_assert(sizeof(Port) == 128, "two cache lines");

/// The rest of a port, seldom touched.
struct PortMore {
  PacketRing under_way;      ///< Packets that wait for their turn with those of the port's own host.
  std::int64_t missing = 0;  ///< Bytes by which its packets were shorter than full ones.
  std::uint64_t bits_per_second = 0;
  std::uint64_t drops = 0;
  std::uint64_t marks = 0;
  std::uint64_t pauses = 0;
  std::int64_t worst_queue = 0;      ///< Bytes, as far as it is counted in bytes.
  std::uint32_t train = kNobody;     ///< The message that has the link to itself.
  std::uint32_t users = 0;           ///< Messages that have it on their way.
  std::int64_t drop_wait = kNoTime;  ///< A packet that would wait longer than this is dropped.
  std::int64_t mark_from = kNoTime;
  std::int64_t mark_all = kNoTime;
  std::int64_t credit_free = 0;  ///< When the end at this last link may give the next credit.
  bool is_socket = false;        ///< It ends at a socket or a network card.
  std::int64_t held_free =
      0;  ///< While it is down: sending left to do, at the speed of `held_time` a packet.
  std::int64_t held_time = 1;
  std::int64_t last_landing = 0;  ///< Of what was on the wire when the link last changed.
  std::vector<PacketEvent>
      held{};  ///< While it is down: accepted packets; their time is sending left until their end.
  std::vector<PacketEvent> waiting{};  ///< While it is down: those that came later.
};

/// Only for ports that can be held back.
struct PortQueue {
  std::deque<PacketEvent> packets;
  std::int64_t bytes = 0;   ///< Waiting in it.
  std::int64_t behind = 0;  ///< Bytes that came over it and are still in the node behind it.
  std::int64_t worst_behind = 0;
  std::int64_t credit = 0;               ///< Bytes that the node behind it can take.
  std::uint32_t sending_from = kNobody;  ///< Link over which the packet now being sent came.
  std::int64_t sending_bytes = 0;
};

/// Messages of a host that leave by one link take turns, packet by packet.
struct Sender {
  std::uint32_t head = kNobody;
  std::uint32_t tail = kNobody;
  std::int64_t wake = kNoTime;
};

enum class MessageState : std::uint8_t {
  kFree,
  kFresh,   ///< Sent in this instant.
  kQueued,  ///< Behind another one of its stream, or before its start.
  kTrain,   ///< Alone on its links.
  kTurn,    ///< Its sender sends it, in turn with others.
  kHeld,    ///< Waits for its window, credits or news.
  kSent,    ///< All of it has left.
  kDone,    ///< All of it has arrived.
  kGhost,   ///< Delivered, but copies of its packets are still under way.
};

struct PacketMessage {
  std::uint32_t first = 0;  ///< Its route in the pool.
  std::uint32_t packets = 0;
  std::uint32_t next = 0;  ///< Packet to send next.
  std::uint32_t arrived = 0;
  std::uint32_t known = 0;       ///< Of them the sender knows.
  std::uint32_t flying = 0;      ///< Sent, and no news of them yet.
  std::uint32_t in_network = 0;  ///< Copies of packets on links and in queues, where they are counted.
  std::uint32_t timeouts = 0;    ///< In a row.
  std::uint32_t window = 0;      ///< Most that may fly; or with credits, packets that may still leave.
  std::uint32_t last_bytes = 0;  ///< On the wire, of the last packet.
  std::uint32_t turn_next = kNobody;
  std::uint32_t stream = kNobody;
  std::uint32_t before = kNobody;  ///< The one in front of it in its stream, until that is delivered.
  std::uint32_t behind = kNobody;  ///< The next one in its stream.
  std::uint32_t generation = 0;
  std::uint32_t credited = 0;           ///< Credits asked for (control credit).
  std::uint32_t asked_again = kNobody;  ///< Of go_back_n: the packet last asked for again.
  std::uint64_t order = 0;              ///< Of those that begin when they are sent, port by port.
  MessageState state = MessageState::kFree;
  bool is_released = false;  ///< All before it in its stream are delivered.
  bool is_injected = false;
  std::int64_t start = 0;
  std::int64_t size = 0;
  std::int64_t end = 0;         ///< When it may be delivered, once it is done.
  std::int64_t news_delay = 0;  ///< From its target back to its source.
  std::int64_t last_news = 0;   ///< When the newest of it is back.
  Receiver* receiver = nullptr;
  std::uint64_t cookie = 0;
  topology::RouteId route;
  std::vector<std::uint32_t> lost;  ///< Packets to send again.
};

/// DCQCN's reaction point, brought up to date when looked at.
struct PacketRate {
  double current = 0;  ///< Bytes per picosecond.
  double target = 0;
  double line = 0;
  double alpha = 1;
  std::int64_t ready = 0;  ///< When the next packet may leave.
  std::int64_t last_cut = -1;
  std::int64_t raised = 0;   ///< Up to when raises are applied.
  std::uint32_t raises = 0;  ///< Since the last cut.
};

}  // namespace orrery::network::detail
