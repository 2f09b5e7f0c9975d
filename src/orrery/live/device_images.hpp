// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Devices of a cluster as cost models, and those as anonymous files that ranks open through /proc.
#include <string>
#include <vector>

#include "orrery/base/pinned.hpp"
#include "orrery/device/cost_model.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::live {

/// The rates that a device's description gives; what it does not say falls back to what it does.
[[nodiscard]] device::Rates rates_of(const topology::DeviceSpec& device);

/// With its table, unless `has_table` is false. InputError when the device says too little for any cost, or its table
/// cannot be read.
[[nodiscard]] device::CostModel cost_model_of(const topology::DeviceSpec& device, bool has_table);

class DeviceImages : Pinned {
 public:
  ~DeviceImages();
  /// The next device.
  void add(const device::CostModel& model);
  [[nodiscard]] bool empty() const { return descriptors_.empty(); }
  [[nodiscard]] int descriptor(std::size_t device) const { return descriptors_.at(device); }

 private:
  std::vector<int> descriptors_;
};

}  // namespace orrery::live
