// SPDX-License-Identifier: Apache-2.0
#pragma once
/// A run that ASTRA-sim's own files describe, with ASTRA-sim's cycles.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "orrery/astra/simulate.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::app {

/// Paths as ASTRA-sim takes them; empty = not given.
struct AstraReplayOptions {
  std::string workload;  ///< Prefix: rank 3 is in <prefix>.3.et.
  std::string system;
  std::string network;
  std::string memory{};
  std::string comm_group{};
  bool is_aware = false;             ///< The congestion-aware network.
  std::uint32_t queues_per_dim = 1;  ///< num-queues-per-dim.
  double injection_scale = 1;
  bool is_rendezvous = false;
  double compute_scale = 1;  ///< Like comm_scale without effect in ASTRA-sim; a warning says so.
  double comm_scale = 1;
  bool may_fold = true;
  std::function<void(const std::string& text)> on_progress{};  ///< What is being done.
  std::function<bool()> wants_stop{};
};

struct AstraReplayResult {
  std::string workload;
  std::string network_model;  ///< "astra_aware" or "astra_unaware".
  astra::Outcome outcome;
};

/// InputError for what is wrong with a file, SimulationError when not all ranks finish.
[[nodiscard]] AstraReplayResult replay_astra(const AstraReplayOptions& options);

/// The inputs of a run, read and checked, for whoever runs them on another network.
[[nodiscard]] astra::Inputs read_astra_inputs(const AstraReplayOptions& options, astra::Warnings& warnings);

/// The graph that an ASTRA-sim network file describes: every link of every dimension, bandwidth in bytes of 2^30.
[[nodiscard]] topology::Cluster astra_cluster(const std::string& network_file, astra::Warnings& warnings);

}  // namespace orrery::app
