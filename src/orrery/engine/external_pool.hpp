// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The host's view of the programs that run outside: who runs, how far the clock may go meanwhile, and who gets
/// the next free place. All of it belongs to the engine's thread, but the bell.
#include <deque>
#include <vector>

#include "orrery/base/pinned.hpp"
#include "orrery/base/units.hpp"
#include "orrery/engine/external_region.hpp"

namespace orrery::engine {

class ExternalPool : Pinned {
 public:
  struct Request {
    std::uint32_t slot = 0;
    bool is_end = false;  ///< The program finished; no call.
    Time clock{};
    Call call;
  };

  /// At most `concurrency` > 0 programs run at once. When nobody is ever dropped, they may pass their places on
  /// among themselves, which saves switches.
  ExternalPool(std::uint32_t slots, std::uint32_t concurrency, bool is_passing_on);
  [[nodiscard]] ExternalRegion& region() { return region_; }

  /// The program in `slot` goes on at `now` with `answer`, and can ask for nothing before `bound`. It is let go
  /// as soon as a place is free; places are given in the order of these calls. With nothing to do until it asks, we
  /// are about to wait, and it is let go then: on a core that we share it would run at once, before those that
  /// are resumed at the same time stand in the queue, and could not pass its place on to them.
  void resume(std::uint32_t slot, Time now, Time bound, std::int64_t answer);
  /// Smallest bound of those resumed that have not asked since; kTimeMax when there is none.
  [[nodiscard]] Time earliest() const;
  /// Lets those go that were resumed, as far as there are places.
  void fill_places();
  /// Sleeps until somebody rings and appends what was asked, perhaps nothing.
  void wait(std::vector<Request>& requests);
  /// Whatever the program in `slot` does from now on is ignored.
  void drop(std::uint32_t slot);
  /// Every program that waits, or asks from now on, is told to leave.
  void close();
  [[nodiscard]] bool has_finished(std::uint32_t slot) const;

 private:
  struct Running {
    std::uint32_t slot;
    Time bound;
  };
  void remove(std::uint32_t slot);

  ExternalRegion region_;
  bool is_passing_on_;
  std::uint32_t free_places_;  // Unless they are passed on, as is the queue.
  std::vector<Running> running_;
  std::deque<std::uint32_t> next_;  // Resumed, but no place yet.
  std::vector<std::uint32_t> posted_;
  std::vector<bool> is_dropped_;
  mutable Time earliest_ = kTimeMax;
  mutable bool is_stale_ = false;  // `earliest_` must be computed anew.
};

}  // namespace orrery::engine
