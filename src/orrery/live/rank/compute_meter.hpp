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
///   glue       keyed by what it lies between: its median when the duration is near it, else the duration, as
///              different amounts of work may stand behind one key.
/// What has not been seen before is charged as measured, but all of that together no more than the CPU time of the
/// segment less what is charged for the rest: a thread that was preempted did not compute.
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

#include "orrery/live/rank/key_statistics.hpp"
#include "orrery/live/rank/ledger_file.hpp"

namespace orrery::live {

enum class MeterMode {
  kMeasured,       ///< As above.
  kFixedSegment,   ///< Each segment takes the same.
  kFixedOperator,  ///< Each operator takes the same; a segment at least 1 ns, so that loops of polls move.
  kLedger,         ///< What was recorded in an earlier run.
};

/// Nanoseconds; tests bring their own.
struct MeterClock {
  std::int64_t (*wall)();
  std::int64_t (*thread_cpu)();
};
[[nodiscard]] MeterClock host_clock();

/// The program is at another point than when the ledger was recorded.
struct LedgerMismatch {
  std::uint64_t position = 0;             ///< Of the entry, from 0.
  std::optional<std::uint64_t> recorded;  ///< The point of the entry; none: the ledger has ended.
  std::uint64_t reached = 0;              ///< The point of the program.
};

struct MeterOptions {
  MeterMode mode = MeterMode::kMeasured;
  std::int64_t fixed_ps = 0;                               ///< Per segment or operator.
  LedgerReader* ledger = nullptr;                          ///< For kLedger; outlives the meter.
  std::function<void(const LedgerMismatch&)> on_mismatch;  ///< Called once; nothing is charged afterwards.
  MeterClock clock = host_clock();
};

/// One thread at a time has the segment, the one that began it; operators and pauses of other threads are ignored.
class ComputeMeter {
 public:
  explicit ComputeMeter(MeterOptions options);

  /// A segment begins now, on this thread.
  void begin();
  /// Picoseconds to charge for the segment that ends at a point of this kind. 0 on a thread that did not begin it.
  std::int64_t end(std::uint64_t point);
  /// end() and begin() with one look at the clocks, for points that take no time themselves.
  std::int64_t split(std::uint64_t point);

  /// Operators nest; only the outermost count.
  void operator_begin(std::uint64_t key);
  void operator_end();
  [[nodiscard]] bool wants_operators() const;

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
  struct Glue {
    RecentMedian median;
  };
  struct Part {
    std::int64_t wall = 0;
    LowEnd* work = nullptr;  ///< Of an operator, else
    Glue* glue = nullptr;
  };

  [[nodiscard]] Readings read() const { return {options_.clock.wall(), options_.clock.thread_cpu()}; }
  [[nodiscard]] bool is_measured() const { return options_.mode == MeterMode::kMeasured; }
  [[nodiscard]] bool is_own_thread() const;
  /// Whether what happens now belongs to the segment.
  [[nodiscard]] bool is_counting() const { return is_open_ && pause_depth_ == 0; }
  void begin_at(const Readings& now);
  std::int64_t end_at(const Readings& now, std::uint64_t point);
  void add_work(std::uint64_t key, std::int64_t wall);
  void add_glue(std::uint64_t next, std::int64_t wall);
  std::int64_t measured_ns(std::int64_t cpu);
  std::int64_t recorded_ps(std::uint64_t point);
  std::int64_t charge(std::uint64_t point, const Readings& now);

  MeterOptions options_;
  LedgerWriter record_;
  bool is_mismatched_ = false;

  std::atomic<const void*> thread_ = nullptr;  ///< Whose segment it is; null: none has begun.
  bool is_open_ = false;
  Readings part_begin_;         ///< `cpu` is of the segment.
  std::uint64_t previous_ = 0;  ///< Operator or point before this glue.
  std::uint64_t operator_ = 0;
  int operator_depth_ = 0;
  std::int64_t operator_count_ = 0;
  int pause_depth_ = 0;
  Readings paused_at_;
  std::vector<Part> parts_;
  std::unordered_map<std::uint64_t, LowEnd> work_;
  std::unordered_map<std::uint64_t, Glue> glue_;
};

}  // namespace orrery::live
