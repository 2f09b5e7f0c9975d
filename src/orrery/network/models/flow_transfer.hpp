// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the flow model keeps of a transfer, of transfers solved together, and what it packs into its events.
#include <cstdint>
#include <limits>
#include <vector>

#include "orrery/network/network_model.hpp"

namespace orrery::network::detail {

inline constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
inline constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

enum class State : std::uint8_t { kFree, kQueued, kLatency, kExpress, kActive };

struct Transfer {
  // What sharing out touches, on one cache line:
  double remaining = 0;      // Bytes, at `updated`.
  double rate = 0;           // Bytes per picosecond since then.
  std::int64_t updated = 0;  // Picoseconds, as are `finish` and `start`.
  std::int64_t finish = kNever;
  std::uint32_t group = kNone;
  std::uint32_t slot = kNone;    // In the sharing, while active.
  std::uint32_t generation = 0;  // Events of an older generation are void.
  State state = State::kFree;
  // And the rest:
  std::int64_t start = 0;  // When its first byte may use bandwidth.
  std::int64_t size = 0;
  Receiver* receiver = nullptr;
  std::uint64_t cookie = 0;
  topology::RouteId route;
  std::uint32_t stream = kNone;
  std::uint32_t next = kNone;  // The one behind it in its stream.
};

/// Transfers solved together: one pending event for the first of them to end.
struct Group {
  std::vector<std::uint32_t> members;  // May name transfers that have moved on.
  std::vector<std::uint32_t> first;    // Those to end at the pending event; likewise.
  std::uint32_t live = 0;
  std::uint32_t generation = 0;

  /// Keeps the earliest end of those noted, and the list of who ends then.
  void note_first(std::uint32_t member, std::int64_t finish, std::int64_t& earliest) {
    if (finish > earliest) return;
    if (finish < earliest) {
      earliest = finish;
      first.clear();
    }
    first.push_back(member);
  }
};

enum class EventKind : std::uint64_t { kExpressEnd, kStart, kGroupEnd, kResolve };

[[nodiscard]] constexpr std::uint64_t pack(EventKind kind, std::uint32_t id, std::uint32_t generation) {
  return (static_cast<std::uint64_t>(kind) << 62) |
         (static_cast<std::uint64_t>(generation & 0x3FFFFFFF) << 32) | id;
}

}  // namespace orrery::network::detail
