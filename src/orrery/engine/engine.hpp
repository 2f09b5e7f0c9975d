// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The discrete-event engine: one clock, one total order of events, never a rollback.
///
/// An instant runs in rounds. After the last round nothing more happens at that time, so models settle once
/// (for example solve for new rates) and the clock moves on. Work that runs outside (real programs) is held
/// back by a Gate: the clock moves to T only when nobody outside could still ask for something at or before T.
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "orrery/base/check.hpp"
#include "orrery/base/digest.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/pinned.hpp"
#include "orrery/engine/event.hpp"
#include "orrery/engine/event_queue.hpp"
#include "orrery/engine/observer.hpp"

namespace orrery::engine {

/// Called once when an instant is over, if it asked for it; may schedule events at now or later.
class Settler {
 public:
  virtual ~Settler() = default;
  virtual void settle() = 0;

 private:
  friend class Engine;
  bool asked_ = false;
};

/// Somebody who waits, for the report of a deadlock.
struct Blocked {
  std::string who;                    ///< "rank 3".
  std::string what;                   ///< "receive 4096 bytes from rank 1, tag 7, group 0".
  std::vector<std::string> waits_on;  ///< Names as in `who`; used to find the cycle.
};

/// Tells the engine, when nothing is left to do, who still waits.
class Watch {
 public:
  virtual void report_blocked(std::vector<Blocked>& blocked) const = 0;

 protected:
  ~Watch() = default;
};

/// Holds the clock back for programs that run outside the engine's thread.
class Gate {
 public:
  /// No running program can ask for anything before this time; kTimeMax when none runs.
  [[nodiscard]] virtual Time earliest() const = 0;
  /// Blocks until at least one running program asks or ends, and schedules what it asks for.
  virtual void wait() = 0;

 protected:
  ~Gate() = default;
};

/// A model with many small events of its own (packets), which it keeps and runs itself, between the engine's.
class Background {
 public:
  /// Runs own events strictly before `limit` and before the first event it schedules meanwhile. At equal times
  /// the engine's events come first. False asks to be called again: a lot is done and more is left.
  [[nodiscard]] virtual bool run_before(Time limit) = 0;
  /// Own events are left.
  [[nodiscard]] virtual bool has_work() const = 0;

 protected:
  ~Background() = default;
};

struct EngineOptions {
  QueueKind queue = QueueKind::kAuto;
  std::uint64_t rounds_per_instant = 1U << 20;  ///< More is a livelock.
};

class Engine : Pinned {
 public:
  explicit Engine(const EngineOptions& options = {});

  [[nodiscard]] Time now() const { return Time{Duration{now_}}; }
  /// Origins are numbered in the order they are added.
  OriginId add_origin(std::string name);
  [[nodiscard]] const std::string& origin_name(OriginId origin) const {
    return origins_[origin.index()].name;
  }

  /// `at` before now() is a bug: nothing is ever inserted late. kTimeMax never happens and is dropped.
  void schedule(Time at, Phase phase, OriginId origin, Handler& handler, std::uint64_t payload) {
    Origin& from = origins_[origin.index()];
    const Event event{count_ps(at), pack_order(phase, origin, from.counter++), &handler, payload};
    if (event.time > now_) [[likely]] {
      if (at != kTimeMax) push(event);
    } else {
      ORRERY_CHECK(event.time == now_, "event of {} at {} ps inserted late, at {} ps", from.name, event.time,
                   now_);
      later_.push_back(event);
    }
  }
  /// An event that happens if the clock gets there for another reason: it alone keeps no run going, so that what
  /// waits for nothing but a deadline is a deadlock. `at` is after now().
  void schedule_deadline(Time at, Phase phase, OriginId origin, Handler& handler, std::uint64_t payload);
  /// Somebody waits for a deadline as for any other event: while there are such, deadlines keep the run going. What is
  /// let go again, because it ended in time, leaves nothing behind that would move the clock.
  void hold_for_deadline() { ++held_; }
  void let_go(std::size_t count = 1) {
    ORRERY_CHECK(count <= held_, "more let go than held");
    held_ -= count;
  }
  void ask_to_settle(Settler& settler) {
    if (settler.asked_) return;
    settler.asked_ = true;
    settlers_.push_back(&settler);
  }
  /// Whoever the run is for is through: what is still under way when nothing is left to happen keeps nobody waiting.
  void dismiss() { is_dismissed_ = true; }
  void add_watch(const Watch& watch) { watches_.push_back(&watch); }
  void remove_watch(const Watch& watch) { std::erase(watches_, &watch); }
  void set_gate(Gate* gate) { gate_ = gate; }
  /// At most one; null takes it away.
  void set_background(Background* background);
  void set_observer(Observer* observer) { observer_ = observer; }
  [[nodiscard]] Observer* observer() const { return observer_; }

  /// Runs until nothing is left. SimulationError on deadlock or livelock, with who waits on whom.
  void run();

  /// Hash of every executed event's time, phase, origin and counter, in order.
  [[nodiscard]] std::uint64_t digest() const { return digest_.value(); }
  [[nodiscard]] std::uint64_t executed() const { return executed_; }
  /// Polled every few thousand events; true stops the run with Interrupted.
  void set_interrupt(const std::function<bool()>* wants_stop) { wants_stop_ = wants_stop; }

 private:
  struct Origin {
    std::string name;
    std::uint64_t counter = 0;
  };
  void push(const Event& event) {
    if (pending_ == 0 && !has_lone_) {
      lone_ = event;
      has_lone_ = true;
      return;
    }
    flush_lone();
    queue_->push(event);
    if (++pending_ > kSmall && grow_) grow_queue();
  }
  void flush_lone() {
    if (!has_lone_) return;
    has_lone_ = false;
    queue_->push(lone_);
    ++pending_;
  }
  void execute(const Event& event);
  void grow_queue();
  /// Sorts and executes `current_`.
  void run_round();
  /// Lets the background run up to the next event, and before `bound`.
  void run_background(std::int64_t bound);
  /// Rounds of the present instant until none is left and everyone has settled.
  void finish_instant();
  /// Fills `current_` with the next instant and moves the clock; false when there is none.
  bool next_instant();
  [[noreturn]] void fail_livelock() const;
  void check_deadlock() const;

  static constexpr std::size_t kSmall = 4096;  // Where the radix heap overtakes the four-ary one (measured).
  std::int64_t now_ = 0;
  std::vector<Event> current_;
  std::vector<Event> later_;
  std::unique_ptr<EventQueue> queue_;
  bool grow_ = false;
  std::size_t pending_ = 0;  // Events in the queue.
  std::size_t held_ = 0;     // Who waits for a deadline.
  bool is_dismissed_ = false;
  Event lone_;  // The only event there is, kept out of the queue: chains of single events are common.
  bool has_lone_ = false;
  std::unique_ptr<EventQueue> deadlines_;
  std::uint64_t rounds_limit_;
  std::vector<Origin> origins_;
  std::vector<Settler*> settlers_;
  std::vector<const Watch*> watches_;
  Gate* gate_ = nullptr;
  Background* background_ = nullptr;
  Observer* observer_ = nullptr;
  const std::function<bool()>* wants_stop_ = nullptr;
  Digest digest_;
  std::uint64_t executed_ = 0;
};

/// The user asked to stop.
class Interrupted : public std::runtime_error {
 public:
  Interrupted() : std::runtime_error{"interrupted"} {}
};

}  // namespace orrery::engine
