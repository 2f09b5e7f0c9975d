// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The one rank that this process is: its port, its clock, its part of the arena. Behind orrery_rank.h.
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <unordered_map>
#include <vector>

#include "orrery/engine/external_port.hpp"
#include "orrery/live/arena.hpp"
#include "orrery/live/join.hpp"
#include "orrery/live/rank/compute_meter.hpp"
#include "orrery/live/rank/queue_clock.hpp"
#include "orrery/live/rank/scratch_memory.hpp"

namespace orrery::live {

/// What ends a segment of computing, for the meter and the ledger.
enum class Point : std::uint64_t { kRequest = 1, kPost, kClock, kSleep, kStore, kLeave, kQueue };

/// Held by the one thread that talks to the coordinator, also while it waits for an answer. Counts the others that want
/// to, for the report of a deadlock.
class TurnMutex {
 public:
  explicit TurnMutex(std::atomic<std::uint32_t>& in_line) : in_line_{in_line} {}
  void lock() {
    if (mutex_.try_lock()) return;
    ++in_line_;
    mutex_.lock();
    --in_line_;
  }
  [[nodiscard]] bool try_lock() { return mutex_.try_lock(); }
  void unlock() { mutex_.unlock(); }

 private:
  std::recursive_mutex mutex_;
  std::atomic<std::uint32_t>& in_line_;
};

class Session {
 public:
  Session(const JoinReply& reply, pid_t coordinator, int rank, int world);

  /// Sleeps until the simulation begins this process.
  void start();
  [[nodiscard]] int rank() const { return rank_; }
  [[nodiscard]] int world() const { return world_; }
  [[nodiscard]] bool is_captured() const { return is_captured_; }
  [[nodiscard]] Arena& arena() { return arena_; }
  [[nodiscard]] ArenaHeap& heap() { return heap_; }
  [[nodiscard]] ComputeMeter& meter() { return meter_; }
  [[nodiscard]] OperatorCounts& operator_counts() { return page_.operators; }
  [[nodiscard]] orrery_memory& memory() { return page_.memory; }
  [[nodiscard]] TurnMutex& mutex() { return mutex_; }
  /// The thread that calls is the program's from now on (it just posted or waited).
  void adopt_thread();

  /// Charges what was computed since the last point; the clock. `is_short`: the next segment begins at once.
  std::int64_t pass(Point point, bool is_short = false);
  /// The clock without charging: for other threads.
  [[nodiscard]] std::int64_t last_clock() const;
  /// The segment that follows a point begins now.
  void resume_computing();

  /// Own work, not the program's: it is not charged. They nest; on the program's thread only.
  void pause();
  void resume();
  [[nodiscard]] bool is_paused() const { return pauses_ > 0; }

  /// An operation brought results into so many pages that were not touched before, and took so many bytes of the
  /// backend's own meanwhile. See ComputeMeter::touch() and ScratchMemory.
  void touch(std::uint64_t pages, std::int64_t scratch_bytes);
  /// Since the last request.
  [[nodiscard]] std::int64_t touched_ps() const { return touched_ps_; }

  /// The program computes on a device with queues: its own clock is then the host's, which may lie behind the port's
  /// (what the simulation has told of: a queue waits for that, the host need not).
  void begin_queues();
  [[nodiscard]] QueueClock* queues() { return queues_.get(); }
  /// Charges, then lets the host wait until `until`.
  void reach(std::int64_t until);
  /// Sleeps from the clock of the last point on.
  void sleep(std::int64_t picoseconds);

  /// At the clock of the last point: blocks until answered. A wait of the device leaves the host's clock.
  std::int64_t request(Request request, std::int64_t argument, bool is_device = false);
  /// It happens at the clock of the last point when it is asynchronous, else at that of the next one.
  void post(orrery_op& op);
  void finish();
  /// Memory for a request to wait for so many; one at a time.
  [[nodiscard]] WaitSet& wait_set(std::size_t count);

  std::uint64_t next_handle() { return ++handles_; }
  std::uint64_t& generation(std::uint64_t key) { return generations_[key]; }

 private:
  void publish();
  /// What the program takes for now.
  [[nodiscard]] std::int64_t clock() const;
  /// The port is never behind the host.
  void follow_host();
  /// When an operation that is posted now can begin.
  [[nodiscard]] std::int64_t stamp(const orrery_op& op) const;
  void write_ledger(bool is_last);
  [[noreturn]] void abort(const std::string& reason);
  void stamp_posts();
  [[nodiscard]] MeterOptions meter_options(const JoinReply& reply, pid_t coordinator);
  void* map_table(int descriptor);

  Arena arena_;
  engine::ExternalRegion region_;
  engine::ExternalPort port_;
  ArenaHeap heap_;
  RankPage& page_;
  int rank_;
  int world_;
  bool is_captured_;
  bool has_scratch_;
  int ledger_out_ = -1;
  std::string ledger_text_;
  std::unique_ptr<LedgerReader> ledger_;
  std::unique_ptr<device::CostModel> model_;
  ComputeMeter meter_;
  std::unique_ptr<QueueClock> queues_;
  int pauses_ = 0;
  TurnMutex mutex_{page_.threads_in_line};
  std::int64_t oldest_post_ = 0;  // Offset; not yet announced.
  orrery_op* newest_post_ = nullptr;
  std::vector<orrery_op*> unstamped_;  // Posted, and to happen at the next point.
  WaitSet* wait_set_ = nullptr;
  std::size_t wait_room_ = 0;
  std::uint64_t handles_ = 0;
  std::uint64_t segments_ = 0;
  std::int64_t touched_ps_ = 0;
  ScratchMemory scratch_;
  std::unordered_map<std::uint64_t, std::uint64_t> generations_;
};

/// Whether this thread is within orrery_kernel_begin() and _end().
[[nodiscard]] bool is_in_kernel();

/// Null while this process is no rank (or a child of one).
[[nodiscard]] Session* session();

/// The program ends by _exit(0), and no handler of it will run: leaves with status 0 if this process is a rank.
void leave_without_a_word();

}  // namespace orrery::live
