// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the packet model keeps when it runs port by port instead of event by event. packet_batch.cpp says how.
#include <unordered_map>
#include <vector>

#include "orrery/network/models/packet_types.hpp"

namespace orrery::network::detail {

/// Of `LaneRun::who`: above the message, whether it is its last packet, and whether the message is a long one.
inline constexpr std::uint32_t kLastPacket = std::uint32_t{1} << 31;
inline constexpr std::uint32_t kOfLong = std::uint32_t{1} << 30;
inline constexpr std::uint32_t kLongMessage = 8;  ///< Packets from which its end is worth foreseeing.

[[nodiscard]] constexpr std::uint32_t message_of(std::uint32_t who) { return who & (kMostMessages - 1); }

/// Packets of one message on the way to a port, evenly spaced. All of a message come over one lane, so that their order
/// needs no number. Its last packet is a run of its own.
struct LaneRun {
  std::int64_t time = 0;  ///< The first is there.
  std::uint32_t who = 0;
  std::uint32_t pos = 0;    ///< Of the port in the pool of routes.
  std::uint32_t gap = 0;    ///< Between two of them; of a last packet, its bytes.
  std::uint32_t count = 1;  ///< At least one.

  /// True when `next` is the rest of an evenly spaced run.
  [[nodiscard]] bool takes(const LaneRun& next) {
    if (next.who != who) return false;
    const std::int64_t after = next.time - time - std::int64_t{count - 1} * gap;
    const bool is_even = (count == 1 || after == gap) && (next.count == 1 || after == next.gap);
    if (!is_even || after > std::numeric_limits<std::uint32_t>::max()) return false;
    gap = static_cast<std::uint32_t>(after);
    count += next.count;
    return true;
  }
};
static_assert(sizeof(LaneRun) == 24, "many of these are kept");

/// From one port to another, in order of arrival; no two packets arrive at once.
struct Lane {
  void push(const LaneRun& run) {
    if (count > 0 && slots[(first + count - 1) & (slots.size() - 1)].takes(run)) return;
    if (count == slots.size()) [[unlikely]] {
      grow();
    }
    slots[(first + count++) & (slots.size() - 1)] = run;
  }
  [[nodiscard]] const LaneRun& front() const { return slots[first]; }
  /// Takes the first `packets` of the first run away.
  void pop(std::uint32_t packets) {
    LaneRun& run = slots[first];
    if (packets < run.count) {
      run.time += std::int64_t{packets} * run.gap;
      run.count -= packets;
    } else {
      first = (first + 1) & (slots.size() - 1);
      --count;
    }
  }

  std::vector<LaneRun> slots{};  ///< A power of two.
  std::size_t first = 0;
  std::size_t count = 0;
  std::uint32_t from = 0;
  std::uint32_t to = 0;
  std::int64_t delay = 0;  ///< Of a full packet, from its start at one port until it is at the other.

 private:
  void grow() {
    std::vector<LaneRun> larger(slots.empty() ? 4 : 2 * slots.size());
    for (std::size_t i = 0; i < count; ++i) larger[i] = slots[(first + i) & (slots.size() - 1)];
    slots.swap(larger);
    first = 0;
  }
};

/// The first packet of a lane, while lanes are merged.
struct LaneHead {
  std::int64_t time = 0;
  std::uint32_t message = 0;
  std::uint32_t lane = 0;
};

/// A port is either the first of routes (its host's messages take turns there) or a later one (packets come by lanes).
struct BatchPort {
  std::vector<std::uint32_t> filled{};  ///< Lanes to it that have packets.
  std::vector<std::uint32_t> outs{};    ///< Lanes from it.
  std::vector<PacketEvent> joins{};     ///< Messages yet to begin, in order; `pos` is the message.
  std::uint32_t level = 0;              ///< Above that of every port before it on a route.
  bool is_first = false;
  bool is_later = false;
  bool is_last = false;
  bool is_listed = false;
};

struct PacketBatch {
  static constexpr std::uint32_t kMostLevels = 64;

  bool is_allowed = false;  ///< By the settings and by all routes so far.
  bool is_on = false;
  std::vector<BatchPort> ports{};
  std::vector<std::int64_t> next{};                  ///< By port: when it has something to do.
  std::vector<std::vector<std::uint32_t>> listed{};  ///< Ports that have something to do, by level.
  std::vector<Lane> lanes{};
  std::vector<std::uint32_t> lane_at{};  ///< By place in the pool of routes; nobody at last links.
  std::unordered_map<std::uint64_t, std::uint32_t> lane_of{};  ///< By both ports.
  std::vector<LaneHead> heads{};                               ///< While lanes are merged: a heap.
  std::int64_t earliest = kNoTime;      ///< Nothing is left to do at any port before it.
  std::int64_t lookahead = kNoTime;     ///< Least time that a packet takes over its last link.
  std::vector<std::uint32_t> active{};  ///< Messages under way, and some that no longer are.
  std::vector<std::int64_t> due{};      ///< By message: not at its target before; no time: it is.
  std::size_t in_flight = 0;            ///< Messages whose end is not yet known.
  std::uint64_t looked = 0;             ///< Hops when all active messages were last looked at.
  std::uint64_t begun = 0;
  std::size_t hosts = 0;  ///< Links that are the first of routes.
};

}  // namespace orrery::network::detail
