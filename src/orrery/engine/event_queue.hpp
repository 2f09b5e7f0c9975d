// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The pending set: events by time. Ties within an instant are the engine's business, so a queue hands out
/// whole instants. Two implementations, one contract, the same tests.
#include <memory>
#include <string>
#include <vector>

#include "orrery/engine/event.hpp"

namespace orrery::engine {

class EventQueue {
 public:
  virtual ~EventQueue() = default;
  /// `event.time` must not be before the last instant popped.
  virtual void push(const Event& event) = 0;
  /// Appends every event of the earliest instant to `out`, in no particular order. Not empty.
  virtual void pop_instant(std::vector<Event>& out) = 0;
  /// Earliest time; INT64_MAX when empty.
  [[nodiscard]] virtual std::int64_t next_time() = 0;
  [[nodiscard]] virtual std::size_t size() const = 0;
};

/// Monotone radix heap: amortised O(64) moves per event, no comparisons of neighbours; best when large.
[[nodiscard]] std::unique_ptr<EventQueue> make_radix_heap();
/// Four-ary implicit heap: best when small.
[[nodiscard]] std::unique_ptr<EventQueue> make_dary_heap();

enum class QueueKind { kAuto, kRadix, kDary };  ///< kAuto starts four-ary and turns to radix when it grows.

}  // namespace orrery::engine
