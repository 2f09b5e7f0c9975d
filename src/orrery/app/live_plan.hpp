// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Everything about a live run that is known before a process is started. All input errors come from here.
#include <string>
#include <utility>
#include <vector>

#include "orrery/app/live_run.hpp"
#include "orrery/app/network_choice.hpp"
#include "orrery/device/cost_model.hpp"
#include "orrery/live/compute_choice.hpp"
#include "orrery/live/faults.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::app {

struct LivePlan {
  topology::Cluster cluster;  ///< With the links' faults among its events.
  NetworkChoice network;
  live::ComputeChoice compute;
  bool is_device_time = false;            ///< What ranks charge needs no scaling to their device.
  std::vector<device::CostModel> models;  ///< Of --compute model: one for each of the cluster's devices.
  live::Faults faults;
  std::uint64_t warmup_barriers = 0;
  std::string catalog;
  std::string algorithm;
  std::string fallback;  ///< For operations that `algorithm` cannot do.
};

[[nodiscard]] LivePlan plan_live(const LiveOptions& options);

/// InputError unless `options.warmup` is one; the number of barriers that end it, 0 = other things do.
std::uint64_t check_warmup(const LiveOptions& options);

/// A wrong value of an option.
[[noreturn]] void refuse_option(const LiveOptions& options, const char* option, const std::string& value,
                                const std::string& expected);

/// The settings as used, for the manifest.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> describe_plan(const LivePlan& plan,
                                                                             const LiveOptions& options,
                                                                             std::size_t world);

}  // namespace orrery::app
