// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Turns what a rank really computed into virtual time.
///
/// A segment runs from the end of one point (a primitive, a clock read, a sleep) to the next point:
///
///   meter.begin(); ... the program computes ... ; clock += meter.end(kind_of_point);
///
/// Measured segments consist of operators, which the program announces, and the glue between them. Both are charged
/// by what is known of their like, so that two runs agree although the host is noisy:
///   operator   keyed by what runs (name, shapes, types): the low end of all its durations.
///   glue       keyed by what it lies between: the low end of its durations when this one is near it, else what it
///              took, as different amounts of work may stand behind one key.
///   beginning  glue that a rank comes to for the first few times, of which there is much before a program's loops:
///              keyed by program and occasion too, so that a wider margin may count as noise (fresh memory, cold
///              caches).
/// What is new, or far from what is known, is charged by CPU time (a thread that was preempted did not compute):
/// that of the segment less that of its known parts, divided by how slow the host is just now.
#include <atomic>
#include <bitset>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "orrery/device/cost_model.hpp"
#include "orrery/live/rank/device_queue.hpp"
#include "orrery/live/rank/host_speed.hpp"
#include "orrery/live/rank/key_statistics.hpp"
#include "orrery/live/rank/ledger_file.hpp"
#include "orrery/live/rank/queue_clock.hpp"

namespace orrery::live {

enum class MeterMode {
  kMeasured,       ///< As above.
  kFixedSegment,   ///< Each segment takes the same.
  kFixedOperator,  ///< Each operator takes the same; a segment at least 1 ns, so that loops of polls move.
  kLedger,         ///< What was recorded in an earlier run.
  kModel,          ///< Each operator takes what the model of the device says, glue its host overhead.
};

/// Nanoseconds; tests bring their own.
struct MeterClock {
  std::int64_t (*wall)();
  std::int64_t (*thread_cpu)();
  std::int64_t (*reference_loop)() = nullptr;  ///< See HostSpeed.
  std::int64_t (*page_touch)() = nullptr;      ///< What the first touch of a page costs.
  /// Looking at a thread's CPU time is a system call, of 1 us on some hosts. Nothing that matters fits between a look
  /// and a moment so shortly after it: until then CPU time goes on as the wall's does.
  std::int64_t look_lasts = 0;
};
[[nodiscard]] MeterClock host_clock();

/// The program is at another point than when the ledger was recorded.
struct LedgerMismatch {
  std::uint64_t position = 0;             ///< Of the entry, from 0.
  std::optional<std::uint64_t> recorded;  ///< The point of the entry; none: the ledger has ended.
  std::uint64_t reached = 0;              ///< The point of the program.
};

struct MeterOptions {
  std::uint32_t rank = 0;  ///< Whose compute it is, for the record.
  std::uint32_t world = 1;
  MeterMode mode = MeterMode::kMeasured;
  bool is_raw = false;             ///< Of kMeasured: CPU time as it was, the host's noise included.
  std::int64_t fixed_ps = 0;       ///< Per segment or operator.
  std::uint64_t clock_point = 0;   ///< The kind of point that is a look at the clock.
  LedgerReader* ledger = nullptr;  ///< For kLedger; outlives the meter.
  std::function<void(const LedgerMismatch&)> on_mismatch;  ///< Called once; nothing is charged afterwards.
  bool is_recorded = true;  ///< False: record() stays empty, as nobody takes from it.
  /// Where to keep what is known of durations, see KeyTable; null: memory of its own.
  void* table = nullptr;
  std::uint64_t program = 0;  ///< Tells programs apart; 0: beginnings are glue like any other.
  MeterClock clock = host_clock();
  device::CostModel* model = nullptr;  ///< For kModel; outlives the meter.
};

/// One thread at a time has the meter, the last that began a segment; operators and pauses of others are ignored.
/// The caller serialises begin(), end() and split().
class ComputeMeter {
 public:
  explicit ComputeMeter(MeterOptions options);

  /// A segment begins now, on this thread.
  void begin();
  /// Picoseconds to charge for the segment that ends at a point of this kind. 0 on a thread that began none.
  std::int64_t end(std::uint64_t point);
  /// end() and begin() with one look at the clocks, for points that take no time themselves.
  std::int64_t split(std::uint64_t point);

  /// An observer has something to do before operator_begin(): its time is nobody's. May be left out.
  void operator_enter();
  /// Operators nest; only the outermost count.
  void operator_begin(std::uint64_t key);
  void operator_end();
  [[nodiscard]] bool wants_operators() const;
  /// What an operator costs, as far as is known; 0 when nothing is.
  [[nodiscard]] std::int64_t operator_ps(std::uint64_t key);
  /// kModel: an operator has run; how its cost came about.
  device::CostSource operator_ran(const device::Operator& op);
  /// Null in other modes.
  [[nodiscard]] const device::CostModel* model() const { return options_.model; }
  /// The operator that runs now is work of a device with queues of its own.
  void operator_on_device();
  /// kModel: operators go on `queues` as they are launched; `scale` is asked for how slow the device is just now.
  void set_queues(QueueClock* queues, std::function<double()> scale);
  /// Of what end() or split() gave last, the part of such operators.
  [[nodiscard]] std::int64_t device_ps() const { return device_ps_; }
  [[nodiscard]] bool is_measured() const { return options_.mode == MeterMode::kMeasured; }
  [[nodiscard]] bool is_raw() const { return is_measured() && options_.is_raw; }

  /// Picoseconds to charge for results that came into so many pages which nobody had touched yet: a real network's
  /// thread pays for them within the operation. Only where computing is measured, or was.
  std::int64_t touch(std::uint64_t pages);

  /// What happens in between is not charged. They nest.
  void pause();
  void resume();

  /// Everything charged so far, in order; whoever owns the meter writes it to a file from time to time.
  [[nodiscard]] LedgerWriter& record() { return record_; }

 private:
  struct Readings {
    std::int64_t wall = 0;
    std::int64_t cpu = 0;
  };
  struct Part {
    std::int64_t wall = 0;
    LowEnd* known = nullptr;
    LowEnd* beginning = nullptr;  ///< Of this very occasion; null when it is none.
    bool is_operator = false;
    bool is_device = false;
    bool is_first = false;  ///< Of its key in this process.
    bool is_far = false;
    bool is_bare = false;  ///< Nothing but glue from one point to the next.
  };
  /// What one thread has under way. Another thread may be the rank's for a while.
  struct Segment {
    bool is_open = false;
    Readings begin;              ///< `wall` of the present part, `cpu` of the segment.
    std::uint64_t previous = 0;  ///< Operator or point before the present glue.
    std::uint64_t running = 0;   ///< The outermost operator.
    std::int64_t entered = 0;    ///< Where the glue before it ended; 0: where it begins.
    int operator_depth = 0;
    std::int64_t operator_count = 0;
    std::int64_t device_count = 0;  ///< Of those, the device's.
    bool is_device = false;         ///< The running one is.
    DeviceQueue queue;              ///< kModel.
    int pause_depth = 0;
    Readings paused_at;
    std::vector<Part> parts;

    /// Whether what happens now belongs to it.
    [[nodiscard]] bool is_counting() const { return is_open && pause_depth == 0; }
  };

  [[nodiscard]] Readings read();
  /// Looking at the CPU clock is a system call.
  [[nodiscard]] bool needs_reading();
  /// The calling thread's; null when another thread has the meter.
  [[nodiscard]] Segment* own_segment();
  /// Of glue or an operator of this key that ends now.
  [[nodiscard]] Part part(std::int64_t wall, std::uint64_t key);
  [[nodiscard]] Part glue(std::int64_t wall, std::uint64_t key);
  [[nodiscard]] Part operator_part(std::int64_t wall, std::uint64_t key, bool is_device);
  void begin_at(const Readings& now);
  std::int64_t end_at(const Readings& now, std::uint64_t point);
  std::int64_t charge(Segment& segment, std::uint64_t point, const Readings& now);
  std::int64_t measured_ns(Segment& segment, std::int64_t cpu);
  /// Whether so many nanoseconds may be what `part.known` stands for, which may become that of its beginning.
  static bool is_known(Part& part, double value, double slowness);
  /// Whether it was the host that stood still for so long, not the program that did something else.
  static bool is_stall(const Part& part, double value);
  /// What is known of it is next to nothing, and anything may stand there.
  static bool says_nothing(const Part& part);
  std::int64_t recorded_ps(std::uint64_t point);
  std::int64_t noted_touch(std::int64_t picoseconds);
  void launch(const device::Cost& cost, bool is_device);
  [[nodiscard]] std::optional<LedgerEntry> next_recorded();

  MeterOptions options_;
  LedgerWriter record_;
  std::int64_t device_ps_ = 0;
  QueueClock* queues_ = nullptr;
  std::function<double()> scale_;
  bool is_mismatched_ = false;
  std::optional<LedgerEntry> ahead_;  ///< Read from the ledger, not yet reached.
  std::int64_t ahead_device_ps_ = 0;  ///< Its device part.
  int extra_looks_ = 0;               ///< At the clock, in a row, that the ledger does not have.

  std::atomic<const void*> thread_ = nullptr;  ///< Who has the meter.
  Segment* segment_ = nullptr;                 ///< Its.
  std::unordered_map<const void*, Segment> segments_;
  Readings look_;                    ///< The last one at the CPU's clock,
  const void* looked_at_ = nullptr;  ///< by this thread, which has not slept since; null: none.
  KeyTable known_;
  std::bitset<std::size_t{1} << 16> met_;  ///< Keys, by their low bits.
  std::unordered_map<std::uint64_t, std::uint32_t>
      occasions_;               ///< How often glue of a key was met, at first.
  std::size_t glue_count_ = 0;  ///< Pieces, as far as that is counted.
  HostSpeed speed_;
  std::int64_t page_ns_ = 0;  ///< See touch().
};

}  // namespace orrery::live
