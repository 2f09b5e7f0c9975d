// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How long an operation computes, and how long a load or store of remote memory takes.
///   recorded    what was recorded, times the device's compute_scale; without a record, the roofline
///   recorded:T  likewise, and T where neither is known
///   roofline    max(flops / peak, bytes / memory bandwidth), rounded up; host operations as recorded
///   fixed:T     T for every operation
///   table:FILE  a YAML or JSON map from names to times; "gemm*" stands for names that begin so, the longest wins
///   load, store remote_latency + bytes / remote_bandwidth of the device
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "orrery/topology/cluster.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::workload {

class ComputeTime {
 public:
  /// InputError names `source` ("--compute") for a text that is none of the above.
  [[nodiscard]] static ComputeTime parse(const std::string& text, const std::string& source);

  /// Of a compute operation. InputError that names rank and node when what it needs is not there.
  [[nodiscard]] Duration of(const Op& op, Rank rank, const topology::DeviceSpec& device);
  /// Of a load or store; likewise.
  [[nodiscard]] Duration of_memory(const Op& op, Rank rank, const topology::DeviceSpec& device) const;
  /// What the user should know about how times came about; empty when all came the way that was asked for.
  [[nodiscard]] std::vector<std::string> notes() const;

 private:
  enum class Mode : std::uint8_t { kRecorded, kRoofline, kFixed, kTable };
  [[nodiscard]] Duration recorded(const Op& op, Rank rank, const topology::DeviceSpec& device);
  [[nodiscard]] Duration roofline(const Op& op, Rank rank, const topology::DeviceSpec& device);
  [[nodiscard]] const Duration* find_in_table(const std::string& name) const;
  void read_table(const std::string& path);

  Mode mode_ = Mode::kRecorded;
  bool has_default_ = false;
  Duration fixed_{};  // Of kFixed, or the default of kRecorded.
  std::string source_;
  std::map<std::string, Duration, std::less<>> table_{};
  std::map<std::string, Duration, std::less<>> prefixes_{};
  std::uint64_t by_roofline_ = 0;  // Operations timed in another way than asked for.
  std::uint64_t by_record_ = 0;
  std::uint64_t by_default_ = 0;
};

}  // namespace orrery::workload
