// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A program's end of the contract: its clock, and calls that block until the engine answers.
///
///   ExternalPort port{region, slot};
///   port.start();                                // Sleeps until the simulation begins this process.
///   port.advance(computed);                      // Own work: nobody is asked.
///   const std::int64_t answer = port.call(...);  // clock() is now the time of the answer.
///   port.finish();
///
/// One thread at a time. It needs the C++ standard library and Linux, nothing else: it is linked into processes
/// that run users' programs. C and everybody else: orrery_port.h.
#include <stdexcept>

#include "orrery/base/units.hpp"
#include "orrery/engine/external_region.hpp"

namespace orrery::engine {

/// The run is over, or the host is gone: the program must leave.
class PortClosed : public std::runtime_error {
 public:
  PortClosed() : std::runtime_error{"the simulation has ended"} {}
};

/// Misuse (a call before start(), from a forked child, or after finish()) is a std::logic_error.
class ExternalPort {
 public:
  /// `region` outlives the port; `slot` < region.size() and nobody else's.
  ExternalPort(ExternalRegion& region, std::uint32_t slot);

  Time start();
  [[nodiscard]] Time clock() const { return clock_; }
  /// `duration` >= 0.
  void advance(Duration duration);
  /// An urgent one is seen at once, though others may have to compute before it can be answered.
  std::int64_t call(const Call& call, bool is_urgent = false);
  /// The process ends at its clock. The last thing done with a port.
  void finish();

 private:
  /// Hands the slot to the host.
  void hand_over(SlotState next, bool is_urgent);
  /// Sleeps until the host hands it back.
  void wait();

  ExternalRegion& region_;
  Slot& slot_;
  std::uint32_t index_;
  std::uint32_t owner_;  // Forks up to the process that made it.
  Time clock_{};
};

}  // namespace orrery::engine
