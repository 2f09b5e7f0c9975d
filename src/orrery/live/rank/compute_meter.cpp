// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/compute_meter.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "orrery/live/rank/interpose.hpp"

namespace orrery::live {
namespace {

constexpr std::int64_t kPsPerNs = 1000;
/// More looks at the clock in a row than were recorded are a loop that waits for something else than it did.
constexpr int kMostExtraLooks = 1000;
/// How many durations make a key known.
constexpr std::uint32_t kKnown = 2;

/// How far above the low end noise may lie: a factor, and for short parts an interrupt or a cold cache. Beyond it is
/// other work: an operator whose cost depends on its data, another loop behind the same two points.
struct Noise {
  double factor;
  double extra_ns;
};
constexpr Noise kOperatorNoise{.factor = 8, .extra_ns = 30'000};
constexpr Noise kShortGlueNoise{.factor = 2, .extra_ns = 10'000};
constexpr Noise kLongGlueNoise{.factor = 1.5, .extra_ns = 10'000};
constexpr std::int64_t kLongGlue = 50'000;
/// Between two looks at a clock is often next to nothing: that says nothing of what else may stand there.
constexpr std::int64_t kNextToNothing = 1'250;
constexpr Noise kBareNoise{.factor = 10, .extra_ns = 0};
/// A virtual machine stands still now and then, often for microseconds and sometimes for milliseconds, and calls it CPU
/// time. Work of a key that is far from the low end no more often than that is such a stall; work that depends on its
/// data is far more often. What is long is believed, glue sooner as it may hide anything. So is a process's first of a
/// kind, which loads code and touches pages.
constexpr std::uint32_t kRare = 64;
constexpr std::uint32_t kRareShort = 8;
constexpr double kShortStall = 1e5;
constexpr double kLongestStall = 1e8;
constexpr double kLongestGlueStall = 1e7;
/// In a process that was just forked every page is written to for the first time: milliseconds, more or less.
constexpr Noise kBeginningNoise{.factor = 1.5, .extra_ns = 2'000'000};
/// How many times of a key are its first, and for how many pieces of a rank's glue that is asked.
constexpr std::uint32_t kFirstOccasions = 4;
constexpr std::size_t kBeginning = 1024;

/// Its address tells threads apart.
thread_local constinit char this_thread = 0;

std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0x9e3779b97f4a7c15ULL ^ (b + 0x632be59bd9b4e019ULL + (a << 6) + (a >> 2));
  x ^= x >> 31;
  x *= 0xbf58476d1ce4e5b9ULL;
  return x ^ (x >> 29);
}

/// Of the loop that shows how fast the host is.
constexpr std::uint64_t kReferenceKey = 0x7265666572656e63;

/// Stands in a ledger before the entry whose device part it is; no kind of point.
constexpr std::uint64_t kDeviceEntry = 64;

/// Stands in a ledger for touch(); no kind of point.
constexpr std::uint64_t kTouchEntry = 65;
constexpr std::uint64_t kPageKey = 0x70616765;

/// Sets operators apart from the glue between two of them.
constexpr std::uint64_t kOperatorKey = 0x6f70657261746f72;

/// Whether `value` may be one of those that `known` stands for, on a host that is so slow.
bool is_noise(double value, const LowEnd& known, const Noise& noise, double slowness) {
  if (known.count() < kKnown) return false;
  return value <= slowness * (noise.factor * static_cast<double>(known.value()) + noise.extra_ns);
}

bool is_noise(double value, const LowEnd& known, bool is_operator, double slowness) {
  if (known.count() < kKnown) return false;
  const Noise& glue = known.value() < kLongGlue ? kShortGlueNoise : kLongGlueNoise;
  return is_noise(value, known, is_operator ? kOperatorNoise : glue, slowness);
}

}  // namespace

MeterClock host_clock() {
  return {.wall = real_now,
          .thread_cpu = real_thread_cpu,
          .reference_loop = time_reference_loop,
          .page_touch = time_page_touch,
          .look_lasts = 20'000};
}

ComputeMeter::ComputeMeter(MeterOptions options)
    : options_{std::move(options)},
      record_{options_.rank, options_.world,
              options_.mode == MeterMode::kModel ||
                  (options_.ledger != nullptr && options_.ledger->is_device_time())},
      known_{options_.table != nullptr ? KeyTable{options_.table} : KeyTable{}},
      speed_{options_.clock.reference_loop, known_.find(kReferenceKey)} {
  if (!is_measured() || options_.clock.page_touch == nullptr) return;
  LowEnd& known = known_.find(kPageKey);
  page_ns_ = options_.clock.page_touch();
  known.add(page_ns_);
  if (!options_.is_raw) page_ns_ = known.value();
}

bool ComputeMeter::wants_operators() const {
  return (options_.mode == MeterMode::kMeasured && !options_.is_raw) ||
         options_.mode == MeterMode::kFixedOperator || options_.mode == MeterMode::kModel;
}

std::int64_t ComputeMeter::operator_ps(std::uint64_t key) {
  if (options_.mode == MeterMode::kFixedOperator) return options_.fixed_ps;
  if (!is_measured()) return 0;
  const LowEnd& known = known_.find(mix(mix(kOperatorKey, key), 0));
  return known.count() > 0 ? known.value() * kPsPerNs : 0;
}

ComputeMeter::Readings ComputeMeter::read() {
  const std::int64_t wall = options_.clock.wall();
  const std::int64_t since = wall - look_.wall;
  if (looked_at_ == &this_thread && since < options_.clock.look_lasts) return {wall, look_.cpu + since};
  look_ = {wall, options_.clock.thread_cpu()};
  looked_at_ = &this_thread;
  return look_;
}

void ComputeMeter::begin() {
  looked_at_ = nullptr;  // It was asleep.
  begin_at(needs_reading() ? read() : Readings{});
}

std::int64_t ComputeMeter::end(std::uint64_t point) {
  return end_at(needs_reading() ? read() : Readings{}, point);
}

bool ComputeMeter::needs_reading() {
  if (!is_measured()) return false;
  // A segment that ends in a pause ended where that began; one that begins in a pause begins where that ends.
  const Segment* const segment = own_segment();
  return segment == nullptr || segment->pause_depth == 0;
}

std::int64_t ComputeMeter::split(std::uint64_t point) {
  const Readings now = is_measured() ? read() : Readings{};
  const std::int64_t charged = end_at(now, point);
  // Our own work just now belongs to nobody's glue.
  begin_at({.wall = is_measured() ? options_.clock.wall() : 0, .cpu = now.cpu});
  return charged;
}

ComputeMeter::Segment* ComputeMeter::own_segment() {
  return thread_.load(std::memory_order_relaxed) == &this_thread ? segment_ : nullptr;
}

void ComputeMeter::begin_at(const Readings& now) {
  if (own_segment() == nullptr) {
    segment_ = &segments_[&this_thread];
    thread_.store(&this_thread, std::memory_order_relaxed);
  }
  segment_->is_open = true;
  segment_->begin = now;
  segment_->paused_at = now;
  segment_->operator_count = 0;
  segment_->queue = {};
  segment_->device_count = 0;
  segment_->parts.clear();
}

std::int64_t ComputeMeter::end_at(const Readings& now, std::uint64_t point) {
  std::int64_t charged = 0;
  device_ps_ = 0;
  const auto found = segments_.find(&this_thread);
  if (found != segments_.end()) {
    Segment& segment = found->second;
    if (segment.is_open) charged = charge(segment, point, segment.pause_depth > 0 ? segment.paused_at : now);
    segment.is_open = false;
    segment.previous = point;
  }
  if (options_.is_recorded && device_ps_ > 0) {
    record_.add({.point = kDeviceEntry, .picoseconds = device_ps_});
  }
  if (options_.is_recorded) record_.add({.point = point, .picoseconds = charged});
  return charged;
}

std::int64_t ComputeMeter::charge(Segment& segment, std::uint64_t point, const Readings& now) {
  switch (options_.mode) {
    case MeterMode::kMeasured:
      break;
    case MeterMode::kFixedSegment:
      // A program that watches the clock until it has moved must see it move.
      return point == options_.clock_point ? std::max(options_.fixed_ps, kPsPerNs) : options_.fixed_ps;
    case MeterMode::kFixedOperator:
      device_ps_ = segment.device_count * options_.fixed_ps;
      return std::max(segment.operator_count * options_.fixed_ps, kPsPerNs);
    case MeterMode::kLedger:
      return recorded_ps(point);
    case MeterMode::kModel:
      return std::max(segment.queue.drain(), kPsPerNs);
  }
  speed_.sample(now.wall);
  const std::int64_t wall = now.wall - segment.begin.wall;
  // A point inside an operator (a collective, say, is one): what came before it is a piece of its own.
  const bool is_operator = segment.operator_depth > 0;
  // The operator before tells places apart that lie between points of the same kinds, such as the imports at the
  // beginning and a line in a loop.
  const std::uint64_t between = mix(mix(segment.previous, segment.running), point);
  segment.parts.push_back(
      is_operator ? operator_part(wall, mix(mix(kOperatorKey, segment.running), between), segment.is_device)
                  : glue(wall, between));
  return measured_ns(segment, std::max<std::int64_t>(now.cpu - segment.begin.cpu, 0)) * kPsPerNs;
}

ComputeMeter::Part ComputeMeter::part(std::int64_t wall, std::uint64_t key) {
  auto met = met_[key % met_.size()];
  Part part{.wall = wall, .known = &known_.find(key), .is_first = !met};
  met = true;
  return part;
}

ComputeMeter::Part ComputeMeter::operator_part(std::int64_t wall, std::uint64_t key, bool is_device) {
  Part found = part(wall, key);
  found.is_operator = true;
  found.is_device = is_device;
  return found;
}

ComputeMeter::Part ComputeMeter::glue(std::int64_t wall, std::uint64_t key) {
  Part part = this->part(wall, key);
  if (options_.program == 0 || glue_count_ == kBeginning) return part;
  ++glue_count_;
  const std::uint32_t occasion = occasions_[key]++;
  if (occasion < kFirstOccasions) part.beginning = &known_.find(mix(mix(options_.program, key), occasion));
  return part;
}

std::int64_t ComputeMeter::touch(std::uint64_t pages) {
  if (options_.mode == MeterMode::kLedger && !is_mismatched_) {
    if (!ahead_) ahead_ = next_recorded();
    if (!ahead_ || ahead_->point != kTouchEntry) return 0;
    return noted_touch(std::exchange(ahead_, std::nullopt)->picoseconds);
  }
  if (!is_measured() || pages == 0) return 0;
  return noted_touch(static_cast<std::int64_t>(pages) * page_ns_ * kPsPerNs);
}

std::int64_t ComputeMeter::noted_touch(std::int64_t picoseconds) {
  if (options_.is_recorded) record_.add({.point = kTouchEntry, .picoseconds = picoseconds});
  return picoseconds;
}

/// With the device's part of it, which stands before it.
std::optional<LedgerEntry> ComputeMeter::next_recorded() {
  std::optional<LedgerEntry> entry = options_.ledger->next();
  if (entry && entry->point == kDeviceEntry) {
    ahead_device_ps_ = entry->picoseconds;
    entry = options_.ledger->next();
  }
  return entry;
}

std::int64_t ComputeMeter::recorded_ps(std::uint64_t point) {
  if (is_mismatched_) return 0;
  // Libraries look at the clock now and then as threads happen to meet (Python, for its interpreter lock). Such a look
  // takes no time here, and what was charged at one that is missing belongs to what follows it: sums stay the same.
  std::int64_t before = 0;
  const auto take = [this] {
    device_ps_ += std::exchange(ahead_device_ps_, 0);
    return std::exchange(ahead_, std::nullopt)->picoseconds;
  };
  for (;; before += take()) {
    if (!ahead_) ahead_ = next_recorded();
    if (ahead_ && ahead_->point == point) {
      extra_looks_ = 0;
      return before + take();
    }
    if (point == options_.clock_point && ++extra_looks_ <= kMostExtraLooks) return 0;
    if (ahead_ && ahead_->point == kTouchEntry) continue;  // Nobody asked for it: it stood behind a look.
    if (point == options_.clock_point || !ahead_ || ahead_->point != options_.clock_point) break;
  }
  is_mismatched_ = true;
  LedgerMismatch mismatch{
      .position = options_.ledger->position() - (ahead_ ? 1 : 0), .recorded = {}, .reached = point};
  if (ahead_) mismatch.recorded = ahead_->point;
  if (options_.on_mismatch) options_.on_mismatch(mismatch);
  return 0;
}

bool ComputeMeter::says_nothing(const Part& part) {
  return part.is_bare && part.known->count() > 0 && part.known->value() < kNextToNothing;
}

bool ComputeMeter::is_known(Part& part, double value, double slowness) {
  if (says_nothing(part)) return is_noise(value, *part.known, kBareNoise, slowness);
  if (part.beginning != nullptr && is_noise(value, *part.beginning, kBeginningNoise, slowness)) {
    part.known = part.beginning;
    return true;
  }
  return is_noise(value, *part.known, part.is_operator, slowness);
}

bool ComputeMeter::is_stall(const Part& part, double value) {
  if (part.is_first || part.known->count() < kKnown || says_nothing(part)) return false;
  part.known->note_far();
  if (value > (part.is_operator ? kLongestStall : kLongestGlueStall)) return false;
  const bool is_short = value < static_cast<double>(part.known->value()) + kShortStall;
  return part.known->is_rarely_far(is_short ? kRareShort : kRare);
}

std::int64_t ComputeMeter::measured_ns(Segment& segment, std::int64_t cpu) {
  if (options_.is_raw) return cpu;
  const double slowness = speed_.slowness();
  std::int64_t charged = 0;
  std::int64_t far = 0;     // Of the parts that are new, or far from what is known.
  std::int64_t rest = cpu;  // What the others leave them of the CPU time.
  for (Part& part : segment.parts) {
    // No part computed for longer than the whole, as far as that is known.
    part.wall = std::clamp<std::int64_t>(part.wall, 0, cpu + options_.clock.look_lasts);
    part.known->add(part.wall);
    part.is_bare = segment.parts.size() == 1 && !part.is_operator;
    if (part.beginning != nullptr) part.beginning->add(part.wall);
    part.is_far = !is_known(part, static_cast<double>(part.wall), slowness);
    (part.is_far ? far : charged) += part.is_far ? part.wall : part.known->value();
    if (!part.is_far) rest -= part.wall;
    if (!part.is_far && part.is_device) device_ps_ += part.known->value() * kPsPerNs;
  }
  if (far == 0) return charged;
  // They share the rest: where the thread was preempted, it is less than what they took.
  const double share = static_cast<double>(std::clamp<std::int64_t>(rest, 0, far)) / static_cast<double>(far);
  for (Part& part : segment.parts) {
    if (!part.is_far) continue;
    const double value = static_cast<double>(part.wall) * share;
    const bool is_usual = is_known(part, value, slowness) || is_stall(part, value);
    const std::int64_t cost = is_usual ? part.known->value() : std::llround(value / slowness);
    charged += cost;
    if (part.is_device) device_ps_ += cost * kPsPerNs;
  }
  return charged;
}

void ComputeMeter::operator_enter() {
  Segment* const segment = own_segment();
  if (segment == nullptr || segment->operator_depth > 0 || !is_measured()) return;
  segment->entered = options_.clock.wall();
}

void ComputeMeter::operator_begin(std::uint64_t key) {
  Segment* const segment = own_segment();
  if (segment == nullptr || segment->operator_depth++ > 0) return;
  segment->running = key;
  segment->is_device = false;
  if (!is_measured() || !segment->is_counting()) return;
  const std::int64_t entered = std::exchange(segment->entered, 0);
  const std::int64_t now = entered > segment->begin.wall ? entered : options_.clock.wall();
  segment->parts.push_back(glue(now - segment->begin.wall, mix(segment->previous, key)));
  segment->previous = key;
  segment->begin.wall = options_.clock.wall();
}

void ComputeMeter::operator_end() {
  Segment* const segment = own_segment();
  if (segment == nullptr || segment->operator_depth == 0 || --segment->operator_depth > 0) return;
  if (!segment->is_counting()) return;
  ++segment->operator_count;
  segment->device_count += segment->is_device ? 1 : 0;
  if (!is_measured()) return;
  const std::int64_t now = options_.clock.wall();
  // After a point inside the operator `previous` is that point, and this is the piece that follows it.
  const std::uint64_t piece = segment->previous == segment->running ? 0 : segment->previous;
  const std::uint64_t key = mix(mix(kOperatorKey, segment->running), piece);
  segment->parts.push_back(operator_part(now - segment->begin.wall, key, segment->is_device));
  segment->previous = segment->running;
  segment->begin.wall = options_.clock.wall();
}

void ComputeMeter::operator_on_device() {
  Segment* const segment = own_segment();
  if (segment != nullptr && (segment->operator_depth > 0 || queues_ != nullptr)) segment->is_device = true;
}

device::CostSource ComputeMeter::operator_ran(const device::Operator& op) {
  Segment* const segment = own_segment();
  if (segment == nullptr || !segment->is_counting()) return device::CostSource::kFree;
  const device::Cost cost = options_.model->cost(op);
  ++segment->operator_count;
  if (queues_ != nullptr) {
    launch(cost, std::exchange(segment->is_device, false));
  } else {
    segment->queue.add(cost, options_.model->rates().is_asynchronous);
  }
  return cost.source;
}

void ComputeMeter::set_queues(QueueClock* queues, std::function<double()> scale) {
  queues_ = queues;
  scale_ = std::move(scale);
}

void ComputeMeter::launch(const device::Cost& cost, bool is_device) {
  const double scale = scale_();
  const auto scaled = [&](std::int64_t picoseconds) {
    return scale == 1.0 ? picoseconds : std::llround(static_cast<double>(picoseconds) * scale);
  };
  queues_->launch(scaled(cost.host_ps), is_device ? scaled(cost.device_ps) : 0);
  if (is_device && (cost.waits || !options_.model->rates().is_asynchronous)) queues_->reach(queues_->ready());
}

void ComputeMeter::pause() {
  Segment* const segment = own_segment();
  if (segment == nullptr || segment->pause_depth++ > 0 || !is_measured()) return;
  segment->paused_at = read();
}

void ComputeMeter::resume() {
  Segment* const segment = own_segment();
  if (segment == nullptr || segment->pause_depth == 0 || --segment->pause_depth > 0 || !is_measured()) return;
  const Readings now = read();
  segment->begin.wall += now.wall - segment->paused_at.wall;
  segment->begin.cpu += now.cpu - segment->paused_at.cpu;
}

}  // namespace orrery::live
