// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the engine orders and executes.
///
/// Events run in the order of (time, round, phase, origin, per-origin counter). The first four never depend on
/// the shape of a heap, on threads or on insertion luck; the counter only separates events of one origin.
/// An event scheduled for the current instant runs in a later round of it.
#include <cstdint>

#include "orrery/base/id.hpp"
#include "orrery/base/units.hpp"

namespace orrery::engine {

using OriginId = Id<struct OriginTag>;  ///< Who scheduled an event: a process, a model.

/// Order within a round: links change before transfers complete, and so on.
enum class Phase : std::uint8_t { kLinkChange, kCompletion, kDelivery, kArrival, kWake };

/// Whoever schedules an event is called back with the payload it gave.
class Handler {
 public:
  virtual void on_event(std::uint64_t payload) = 0;

 protected:
  ~Handler() = default;
};

struct Event {
  std::int64_t time = 0;    ///< Picoseconds.
  std::uint64_t order = 0;  ///< Phase, origin and counter, packed so that comparing it compares them in turn.
  Handler* handler = nullptr;
  std::uint64_t payload = 0;
};

inline constexpr int kCounterBits = 37;  ///< 1.4e11 events per origin.
inline constexpr int kOriginBits = 24;   ///< 16.7 million origins.

[[nodiscard]] constexpr std::uint64_t pack_order(Phase phase, OriginId origin, std::uint64_t counter) {
  return (static_cast<std::uint64_t>(phase) << (kOriginBits + kCounterBits)) |
         (static_cast<std::uint64_t>(origin.value()) << kCounterBits) | counter;
}
[[nodiscard]] constexpr OriginId origin_of(const Event& event) {
  return OriginId{static_cast<std::uint32_t>((event.order >> kCounterBits) & ((1U << kOriginBits) - 1))};
}

}  // namespace orrery::engine
