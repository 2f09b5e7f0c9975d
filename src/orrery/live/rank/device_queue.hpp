// SPDX-License-Identifier: Apache-2.0
#pragma once
/// How operators of one segment follow each other in time: on the host, which launches them, and on the device, which
/// works through them in order. Picoseconds since the segment began.
///
///   synchronous    host += overhead + duration
///   asynchronous   host += overhead; device = max(device, host) + duration
///
/// so that launches are hidden behind a busy device, and a device idles behind a slow host. A segment ends when both
/// are through: the points that end it (collectives, clocks, sleeps) see the device's results.
#include <algorithm>
#include <cstdint>

#include "orrery/device/cost_model.hpp"

namespace orrery::live {

class DeviceQueue {
 public:
  void add(const device::Cost& cost, bool is_asynchronous) {
    host_ += cost.host_ps;
    if (!is_asynchronous) {
      host_ += cost.device_ps;
      return;
    }
    if (cost.device_ps > 0) end_ = std::max(end_, host_) + cost.device_ps;
    if (cost.waits) host_ = std::max(host_, end_);
  }
  /// When host and device are through.
  [[nodiscard]] std::int64_t drain() const { return std::max(host_, end_); }

 private:
  std::int64_t host_ = 0;
  std::int64_t end_ = 0;  ///< Of what the device has to do.
};

}  // namespace orrery::live
