// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/compute_time.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/config/document.hpp"

namespace orrery::workload {
namespace {

constexpr const char* kForms = "expected recorded, recorded:TIME, roofline, fixed:TIME or table:FILE";

[[noreturn]] void fail(const Op& op, Rank rank, const std::string& why) {
  throw InputError{fmt::format("rank {}: node {} '{}': {}", rank, op.id, op.name, why)};
}

Duration scaled(Duration duration, double scale) {
  return scale == 1.0 ? duration : ceil_to_duration(static_cast<double>(count_ps(duration)) * scale);
}

/// How long what was recorded takes on `device`.
Duration recorded_on(const Op& op, const topology::DeviceSpec& device) {
  if (op.recorded_scale == 0 || op.recorded_scale == device.compute_scale) return op.recorded;
  return scaled(op.recorded, device.compute_scale / op.recorded_scale);
}

}  // namespace

ComputeTime ComputeTime::parse(const std::string& text, const std::string& source) {
  const std::size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  const bool has_value = colon != std::string::npos;
  const std::string value = has_value ? text.substr(colon + 1) : std::string{};
  const auto refuse = [&](const std::string& expected, const std::string& nearest = {}) {
    throw InputError{{.source = source,
                      .position = {},
                      .field = {},
                      .value = text,
                      .expected = expected,
                      .nearest = nearest}};
  };
  ComputeTime made;
  made.source_ = source;
  if (kind == "recorded" || kind == "fixed") {
    made.mode_ = kind == "fixed" ? Mode::kFixed : Mode::kRecorded;
    if (!has_value && made.mode_ == Mode::kRecorded) return made;
    const auto time = parse_duration(value);
    constexpr Duration kLongest = std::chrono::hours{1};
    if (!time || *time > kLongest) {
      refuse(fmt::format("expected a time of at most an hour, such as {}:10us", kind));
    }
    made.fixed_ = *time;
    made.has_default_ = true;
    return made;
  }
  if (kind == "roofline" && !has_value) {
    made.mode_ = Mode::kRoofline;
    return made;
  }
  if (kind == "table" && !value.empty()) {
    made.mode_ = Mode::kTable;
    made.read_table(value);
    return made;
  }
  refuse(kForms, nearest_name(kind, {"recorded", "roofline", "fixed", "table"}));
  return made;
}

void ComputeTime::read_table(const std::string& path) {
  const config::Document document = config::Document::load(path);
  const config::Cursor root{document};
  root.expect_mapping();
  for (const config::Entry& entry : root.node().entries) {
    const config::Cursor at = root.at(entry.key);
    const auto time = parse_duration(at.scalar("a time with its unit, such as 12us"));
    if (!time) at.fail("expected a time with its unit, such as 12us");
    if (entry.key.ends_with('*')) {
      prefixes_[entry.key.substr(0, entry.key.size() - 1)] = *time;
    } else {
      table_[entry.key] = *time;
    }
  }
}

const Duration* ComputeTime::find_in_table(const std::string& name) const {
  if (const auto found = table_.find(name); found != table_.end()) return &found->second;
  const Duration* best = nullptr;
  for (const auto& [prefix, time] : prefixes_) {
    // Prefixes of one name come in ascending length.
    if (name.starts_with(prefix)) best = &time;
  }
  return best;
}

Duration ComputeTime::of(const Op& op, Rank rank, const topology::DeviceSpec& device) {
  if (op.recorded_scale == 0) return op.recorded;
  switch (mode_) {
    case Mode::kFixed:
      return fixed_;
    case Mode::kTable:
      if (const Duration* time = find_in_table(op.name)) return *time;
      fail(op, rank, fmt::format("is not in the table of {}; \"*\" stands for all others", source_));
    case Mode::kRoofline:
      if (op.on_cpu && op.recorded > Duration{}) return recorded_on(op, device);
      if (op.flops == 0 && op.tensor.count() == 0 && op.recorded > Duration{}) {
        ++by_record_;
        return recorded_on(op, device);
      }
      return roofline(op, rank, device);
    case Mode::kRecorded:
      break;
  }
  return recorded(op, rank, device);
}

Duration ComputeTime::recorded(const Op& op, Rank rank, const topology::DeviceSpec& device) {
  if (op.recorded > Duration{}) return recorded_on(op, device);
  const bool has_work = op.flops > 0 || op.tensor.count() > 0;
  if (has_work && device.peak.per_second > 0 && device.memory_bandwidth > Bandwidth{}) {
    ++by_roofline_;
    return roofline(op, rank, device);
  }
  if (has_default_) {
    ++by_default_;
    return fixed_;
  }
  fail(op, rank,
       has_work
           ? fmt::format("has no recorded duration, and device '{}' says neither peak nor memory_bandwidth; "
                         "{} recorded:TIME gives such nodes a time",
                         device.name, source_)
           : fmt::format("has neither a recorded duration nor a number of operations; {} recorded:TIME "
                         "gives such nodes a time",
                         source_));
}

Duration ComputeTime::roofline(const Op& op, Rank rank, const topology::DeviceSpec& device) {
  if (op.flops == 0 && op.tensor.count() == 0) {
    if (has_default_) return fixed_;
    fail(op, rank, "has neither a number of operations nor a tensor size, which the roofline needs");
  }
  if (op.flops > 0 && device.peak.per_second <= 0) {
    fail(op, rank, fmt::format("device '{}' does not say its peak, which the roofline needs", device.name));
  }
  if (op.tensor.count() > 0 && device.memory_bandwidth == Bandwidth{}) {
    fail(op, rank,
         fmt::format("device '{}' does not say its memory_bandwidth, which the roofline needs", device.name));
  }
  Duration longest{};
  if (op.flops > 0) {
    longest = ceil_to_duration(static_cast<double>(op.flops) / device.peak.per_second * 1e12);
  }
  if (op.tensor.count() > 0) longest = std::max(longest, transfer_time(op.tensor, device.memory_bandwidth));
  return longest;
}

Duration ComputeTime::of_memory(const Op& op, Rank rank, const topology::DeviceSpec& device) const {
  if (mode_ == Mode::kTable) {
    if (const Duration* time = find_in_table(op.name)) return *time;
  }
  if (device.remote_bandwidth == Bandwidth{}) {
    fail(op, rank,
         fmt::format("{} remote memory, and device '{}' does not say its remote_bandwidth",
                     op.kind == OpKind::kLoad ? "loads from" : "stores to", device.name));
  }
  return device.remote_latency + transfer_time(op.tensor, device.remote_bandwidth);
}

std::vector<std::string> ComputeTime::notes() const {
  std::vector<std::string> notes;
  const auto add = [&](std::uint64_t count, const char* how) {
    if (count > 0) notes.push_back(fmt::format("{} compute node{} {}", count, count == 1 ? "" : "s", how));
  };
  add(by_roofline_, "without a recorded duration timed by the roofline");
  add(by_record_, "without operations or bytes timed as recorded");
  add(by_default_, "without duration, operations or bytes given the time asked for");
  return notes;
}

}  // namespace orrery::workload
