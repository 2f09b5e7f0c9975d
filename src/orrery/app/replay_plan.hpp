// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Everything about a replay that is known before the clock starts; the input errors that do not need the trace's
/// nodes come from here.
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "orrery/app/network_choice.hpp"
#include "orrery/app/replay.hpp"
#include "orrery/topology/cluster.hpp"
#include "orrery/workload/compute_time.hpp"
#include "orrery/workload/executor.hpp"

namespace orrery::app {

struct ReplayPlan {
  workload::Workload workload;
  topology::Cluster cluster;
  NetworkChoice network;
  workload::ComputeTime compute;
  workload::Streams streams;
  Bytes eager_limit;
  std::string catalog;
  std::string algorithm;
  std::string fallback;  ///< For operations that `algorithm` cannot do.
  std::map<collectives::Operation, std::string> algorithm_of{};  ///< Instead of `algorithm` for these.
};

[[nodiscard]] ReplayPlan plan_replay(const ReplayOptions& options);

/// The settings as used, for the manifest.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> describe_plan(const ReplayPlan& plan,
                                                                             const ReplayOptions& options);

}  // namespace orrery::app
