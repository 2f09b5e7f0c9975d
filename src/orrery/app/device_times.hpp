// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery device` as a call: what a device's model says of single operators.
#include <optional>
#include <string>
#include <vector>

#include "orrery/device/cost_model.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::app {

struct DeviceOptions {
  std::string device;                  ///< Of the catalogue; or
  std::string cluster;                 ///< the device of this cluster's first rank.
  std::string operators;               ///< A table in place of the device's own, or "".
  bool uses_tables = true;             ///< False: the roofline alone.
  std::vector<std::string> questions;  ///< "gemm:bf16:1x128x4096x4096"
  std::string check;                   ///< A table whose times are compared with the model's, or "".
};

struct OperatorTime {
  std::string name;
  device::DataType type = device::DataType::kFp32;
  device::Axes axes;
  device::Cost cost;
  std::optional<double> measured_ps;  ///< Of a table to check.
};

struct DeviceTimes {
  topology::DeviceSpec device;
  device::Rates rates;
  std::size_t profiled = 0;  ///< Points of its table.
  std::vector<OperatorTime> times;
  /// Of those with a measured time: |predicted / measured - 1|.
  [[nodiscard]] std::vector<double> errors() const;
};

/// InputError for an unknown device, a malformed question, a bad table.
[[nodiscard]] DeviceTimes time_operators(const DeviceOptions& options);
[[nodiscard]] std::string to_json(const DeviceTimes& times);
/// "1x128x4096x4096"
[[nodiscard]] std::string axes_text(const device::Axes& axes);
/// "table", "extrapolated", "roofline"
[[nodiscard]] const char* source_text(device::CostSource source);

}  // namespace orrery::app
