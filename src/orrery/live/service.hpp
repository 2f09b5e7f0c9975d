// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What the requests of ranks mean: operations, waiting, sleeping, the store, the end. One per run.
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "orrery/engine/process_host.hpp"
#include "orrery/live/capture_listener.hpp"
#include "orrery/live/collectives.hpp"
#include "orrery/live/faults.hpp"
#include "orrery/live/key_store.hpp"
#include "orrery/live/messages.hpp"
#include "orrery/live/rank_times.hpp"

namespace orrery::live {

class LiveService final : public Pinned,
                          public engine::Service,
                          public FaultClock::Target,
                          engine::Handler,
                          EndListener {
 public:
  struct Setup {
    engine::Engine& engine;
    network::NetworkModel& network;
    topology::Router& router;
    const topology::Cluster& cluster;
    Arena& arena;
    std::uint32_t world = 0;
    std::string algorithm;
    std::string fallback;
    std::string catalog;
    /// Operations end with an error after their timeout, as long as something else goes on. When nothing does, a wait
    /// is without end: a mistake of the program, reported as one at once; unless ranks may fail, which is this.
    bool is_faulty = false;
    bool is_device_time =
        false;  ///< What ranks charge is their device's time already, without compute_scale.
    std::uint64_t warmup_barriers =
        0;  ///< A rank's warm-up is over after so many barriers of the default group.
    std::function<void()> on_first_exit{};  ///< Told when the first rank is through; all are still there.
    std::function<void(Time now)> on_warm{};  ///< Told when the warm-up of a rank is over.
    std::function<void(std::uint32_t rank)> on_crash{};
    std::function<void()>
        on_failure{};  ///< A rank ends with an error, and with it the run when this returns.
    std::function<void(const OperationRecord&)> record{};  ///< Told of every operation that ended.
    CaptureListener* capture = nullptr;
  };
  explicit LiveService(Setup setup);
  ~LiveService();
  /// Before the run.
  void attach(engine::ProcessHost& host) { host_ = &host; }

  /// The rank is no more, from now on; whoever carries it is told by Setup::on_crash.
  void crash(std::uint32_t rank) override;
  /// It computes `factor` times slower than its device, from its next stretch of computing on.
  void slow(std::uint32_t rank, double factor) override;
  /// Without its warm-up.
  [[nodiscard]] RankTimes times(std::uint32_t rank) const;
  [[nodiscard]] const char* state(std::uint32_t rank) const;
  [[nodiscard]] std::int64_t wire_bytes() const { return collectives_.wire_bytes() + messages_.bytes(); }

 private:
  enum class Waits : std::uint8_t { kNothing, kOperation, kPoll, kSleep, kStore, kOver };
  struct Stretch {
    Time begin;
    Time end;
  };
  struct Rank {
    engine::OriginId origin;
    RankTimes times;
    RankTimes warmup;  // The times at the end of it.
    std::uint64_t barriers = 0;
    bool ends_warmup = false;  // With the next answer.
    Waits waits = Waits::kNothing;
    std::uint64_t turn = 0;  // Counts requests: a timeout of an earlier one means nothing.
    Time asked{};
    Time resumed{};
    std::vector<std::uint64_t> handles;  // It waits for one of these.
    Time deadline = kTimeMax;            // When one of its open operations may time out next.
    bool is_timed = false;               // What it waits for has a timeout that counts,
    std::size_t timed_operations = 0;    // and so many of its open operations have one.
    Time polls_since = kTimeMax;         // It has done nothing but poll in vain since then.
    std::int64_t store_request = 0;
    std::unordered_set<std::uint64_t> ahead;        // Operations that its device has not come to yet.
    std::map<std::uint64_t, std::int64_t> open;     // Posted, not ended: handle to offset.
    std::unordered_map<std::uint64_t, Time> ended;  // Not told of yet: handle to when it began.
    std::vector<Ending> endings;                    // Of those.
    // What operations under way take from a rank that computes, see service_core.cpp.
    Duration stolen{};              // Of the stretch that it computes now: its posts and request come later by this.
    Duration owed{};                // Of the next stretch.
    Duration hidden{};              // Of stretches before: made up for by a shorter wait, see answer().
    std::deque<Stretch> stretches;  // When it computed, as far back as an open operation may reach.
    engine::Call request{};         // It has come to this
    Time requested{};               // at this time, without what was stolen.
  };
  /// What an event is about.
  struct Post {
    std::uint32_t rank;
    std::int64_t offset;
    Duration shift{};  // By how much it comes later than its rank said.
  };
  static constexpr int kEventBits = 3;  // Of a payload.
  enum class Event : std::uint64_t { kPost, kWake, kTimeout, kOperationTimeout, kDeadline, kRequest };
  static constexpr std::uint64_t payload_of(Event event, std::uint64_t value) {
    return (value << kEventBits) | static_cast<std::uint64_t>(event);
  }
  static constexpr std::size_t kMostRanks = std::size_t{1} << 20;  // A timeout's value: turn and rank.

  void announce(engine::ProcessId process, const engine::Call& call) override;
  void handle(engine::ProcessId process, const engine::Call& call) override;
  void finished(engine::ProcessId process) override;
  void describe(engine::ProcessId process, engine::Blocked& blocked) const override;
  [[nodiscard]] bool has_thread_in_line(std::uint32_t rank) const;
  void on_event(std::uint64_t payload) override;
  void on_ended(std::uint32_t rank, Ending ending) override;

  void post(std::uint32_t rank, std::int64_t offset);
  /// The rank's request, when it has come to it.
  void serve(std::uint32_t rank, const engine::Call& call);
  /// Puts a post, or the request, off to when the rank comes to it with what was stolen meanwhile. False: it is now.
  bool comes_later(const Post& what);
  bool comes_later(std::uint32_t rank);
  /// An operation of the rank has ended: what it took from its computing.
  void steal(std::uint32_t rank, const orrery_op& op, const Ending& ending);
  /// Collectives of a device follow each other within a group, as each group has one queue for them. True: it waits
  /// for an earlier one of this rank, and is posted when that ends.
  bool stands_in_line(std::uint32_t rank, std::int64_t offset);
  void next_in_line(std::uint32_t rank, const orrery_op& op);
  void new_group(orrery_op& op);
  /// `touched`: of what the rank has done since it was resumed, the first touches, which are communication.
  void end_warmup(std::uint32_t rank, Duration touched = {});
  Group& group_of(std::uint32_t rank, const orrery_op& op);
  void wait(std::uint32_t rank, std::int64_t offset);
  void poll(std::uint32_t rank, std::uint64_t handle);
  void ask_store(std::uint32_t rank, std::int64_t offset);
  void exit(std::uint32_t rank, std::int64_t status);
  /// Index of the operation among `handles` that ended first, or -1.
  [[nodiscard]] std::int64_t first_ended(const Rank& rank) const;
  void answer(std::uint32_t rank, std::int64_t value);
  void capture_answer(std::uint32_t rank, std::int64_t value);
  void capture_end(std::uint32_t rank, const Ending& ending);
  /// When an operation was posted that has just ended; the beginning when the program knew of its end before.
  [[nodiscard]] Time posted_at(const Rank& rank, std::uint64_t handle) const;
  /// For the timeline: what it waited in.
  [[nodiscard]] std::string awaited_name(const Rank& rank, std::int64_t index) const;
  void time_out_operation(std::uint32_t rank, std::int64_t offset);
  /// Sees to it that operations of `rank` that are still open at `due` time out. One deadline a rank is enough: when
  /// it comes, the next one is set.
  [[nodiscard]] static Time due_of(const orrery_op& op);
  void set_deadline(std::uint32_t rank, Time due);
  /// What the rank waits for now ends at `due` at the latest.
  void limit_wait(std::uint32_t rank, Time due);
  void end_limit(Rank& rank);
  /// Its program sees the operation fail; else whoever waits for ever has made a mistake, which we report.
  [[nodiscard]] bool may_time_out(const orrery_op& op) const;
  void limit_operation(std::uint32_t rank, std::int64_t offset);
  void end_operation_limit(Rank& rank);
  /// It is gone: its timeouts move no clock any more, and with the last one nobody waits for anything.
  void end(Rank& rank);
  void meet_deadline(std::uint32_t rank);
  void schedule(Time at, Event event, std::uint64_t payload, std::uint32_t rank);
  [[nodiscard]] orrery_op& operation(std::int64_t offset, std::uint32_t rank) const;

  Setup setup_;
  ArenaHeap heap_;
  collectives::Wakefulness wakefulness_;
  Collectives collectives_;
  Messages messages_;
  KeyStores stores_;
  engine::ProcessHost* host_ = nullptr;
  std::vector<Rank> ranks_;
  std::unordered_map<std::uint64_t, std::unique_ptr<Group>> groups_;
  std::unordered_map<std::uint64_t, std::uint32_t> group_members_;  // Posts of NEW_GROUP seen, for freeing.
  std::unordered_map<std::uint64_t, Post> posts_;                   // By event number.
  std::uint64_t next_post_ = 0;
  /// Collectives of a device, by group and rank: the first is under way, the others wait for it.
  std::map<std::pair<std::uint64_t, std::uint32_t>, std::deque<std::int64_t>> lines_;
  bool has_exited_ = false;  // Any rank.
  mutable bool has_given_a_moment_ = false;  // For the report of a deadlock.
  std::size_t over_ = 0;     // Ranks that are gone.
};

}  // namespace orrery::live
