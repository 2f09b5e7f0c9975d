// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/compute_meter.hpp"

#include <algorithm>
#include <utility>

#include "orrery/live/rank/interpose.hpp"

namespace orrery::live {
namespace {

constexpr std::int64_t kPsPerNs = 1000;
/// From how many values on glue is charged by its median.
constexpr std::uint32_t kGlueKnown = 3;
constexpr std::uint32_t kWorkKnown = 2;

/// Its address tells threads apart.
thread_local constinit char this_thread = 0;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ULL ^ (b + 0x632be59bd9b4e019ULL + (a << 6) + (a >> 2));
  x ^= x >> 31;
  x *= 0xbf58476d1ce4e5b9ULL;
  return x ^ (x >> 29);
}

bool is_near(std::int64_t value, std::int64_t typical) {
  return value <= 2 * typical && 2 * value >= typical;
}

}  // namespace

MeterClock host_clock() { return {.wall = real_now, .thread_cpu = real_thread_cpu}; }

ComputeMeter::ComputeMeter(MeterOptions options) : options_{std::move(options)} {}

bool ComputeMeter::is_own_thread() const { return thread_.load(std::memory_order_relaxed) == &this_thread; }

bool ComputeMeter::wants_operators() const {
  return options_.mode == MeterMode::kMeasured || options_.mode == MeterMode::kFixedOperator;
}

void ComputeMeter::begin() { begin_at(is_measured() ? read() : Readings{}); }

std::int64_t ComputeMeter::end(std::uint64_t point) {
  return end_at(is_measured() ? read() : Readings{}, point);
}

std::int64_t ComputeMeter::split(std::uint64_t point) {
  const Readings now = is_measured() ? read() : Readings{};
  const std::int64_t charged = end_at(now, point);
  // Our own work just now belongs to nobody's glue.
  begin_at({.wall = is_measured() ? options_.clock.wall() : 0, .cpu = now.cpu});
  return charged;
}

void ComputeMeter::begin_at(const Readings& now) {
  if (!is_own_thread()) {
    // Another thread is the rank's now; what the last one left open is not ours.
    thread_.store(&this_thread, std::memory_order_relaxed);
    operator_depth_ = 0;
    pause_depth_ = 0;
  }
  is_open_ = true;
  part_begin_ = now;
  paused_at_ = now;
  operator_count_ = 0;
  parts_.clear();
}

std::int64_t ComputeMeter::end_at(const Readings& now, std::uint64_t point) {
  std::int64_t charged = 0;
  if (is_own_thread() && is_open_) charged = charge(point, pause_depth_ > 0 ? paused_at_ : now);
  is_open_ = false;
  previous_ = point;
  record_.add({.point = point, .picoseconds = charged});
  return charged;
}

std::int64_t ComputeMeter::charge(std::uint64_t point, const Readings& now) {
  switch (options_.mode) {
    case MeterMode::kMeasured:
      break;
    case MeterMode::kFixedSegment:
      return options_.fixed_ps;
    case MeterMode::kFixedOperator:
      return std::max(operator_count_ * options_.fixed_ps, kPsPerNs);
    case MeterMode::kLedger:
      return recorded_ps(point);
  }
  const std::int64_t wall = now.wall - part_begin_.wall;
  if (operator_depth_ > 0) {
    // A point inside an operator (a collective, say, is one): what came before it is a piece of its own.
    add_work(mix(operator_, mix(previous_, point)), wall);
  } else {
    add_glue(point, wall);
  }
  return measured_ns(now.cpu - part_begin_.cpu) * kPsPerNs;
}

std::int64_t ComputeMeter::recorded_ps(std::uint64_t point) {
  if (is_mismatched_) return 0;
  const std::uint64_t position = options_.ledger->position();
  const std::optional<LedgerEntry> entry = options_.ledger->next();
  if (entry && entry->point == point) return entry->picoseconds;
  is_mismatched_ = true;
  LedgerMismatch mismatch{.position = position, .recorded = {}, .reached = point};
  if (entry) mismatch.recorded = entry->point;
  if (options_.on_mismatch) options_.on_mismatch(mismatch);
  return 0;
}

std::int64_t ComputeMeter::measured_ns(std::int64_t cpu) {
  std::int64_t known = 0;
  std::int64_t unknown = 0;
  for (const Part& part : parts_) {
    // No part computed for longer than the whole.
    const std::int64_t value = std::clamp<std::int64_t>(part.wall, 0, std::max<std::int64_t>(cpu, 0));
    if (part.work != nullptr) {
      part.work->add(value);
      (part.work->count() >= kWorkKnown ? known : unknown) +=
          part.work->count() >= kWorkKnown ? part.work->value() : value;
    } else {
      RecentMedian& median = part.glue->median;
      median.add(value);
      const bool is_known = median.count() >= kGlueKnown && is_near(value, median.value());
      (is_known ? known : unknown) += is_known ? median.value() : value;
    }
  }
  return known + std::min(unknown, std::max<std::int64_t>(cpu - known, 0));
}

void ComputeMeter::add_work(std::uint64_t key, std::int64_t wall) {
  parts_.push_back({.wall = wall, .work = &work_[key], .glue = nullptr});
}

void ComputeMeter::add_glue(std::uint64_t next, std::int64_t wall) {
  parts_.push_back({.wall = wall, .work = nullptr, .glue = &glue_[mix(previous_, next)]});
}

void ComputeMeter::operator_begin(std::uint64_t key) {
  if (!is_own_thread() || operator_depth_++ > 0) return;
  operator_ = key;
  if (!is_measured() || !is_counting()) return;
  const std::int64_t now = options_.clock.wall();
  add_glue(key, now - part_begin_.wall);
  part_begin_.wall = now;
  previous_ = key;
}

void ComputeMeter::operator_end() {
  if (!is_own_thread() || operator_depth_ == 0 || --operator_depth_ > 0 || !is_counting()) return;
  ++operator_count_;
  if (!is_measured()) return;
  const std::int64_t now = options_.clock.wall();
  // After a point inside the operator `previous_` is that point, and this is the piece that follows it.
  add_work(previous_ == operator_ ? operator_ : mix(previous_, operator_), now - part_begin_.wall);
  part_begin_.wall = now;
  previous_ = operator_;
}

void ComputeMeter::pause() {
  if (!is_own_thread() || pause_depth_++ > 0 || !is_measured()) return;
  paused_at_ = read();
}

void ComputeMeter::resume() {
  if (!is_own_thread() || pause_depth_ == 0 || --pause_depth_ > 0 || !is_measured()) return;
  const Readings now = read();
  part_begin_.wall += now.wall - paused_at_.wall;
  part_begin_.cpu += now.cpu - paused_at_.cpu;
}

}  // namespace orrery::live
