// SPDX-License-Identifier: Apache-2.0
#pragma once
/// One simulation as ASTRA-sim does it: its files and a workload in, cycles per rank out.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "orrery/astra/settings.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::astra {

struct Inputs {
  SystemSettings system;
  NetworkSettings network;
  MemorySettings memory{};
  GroupLists groups{};
  workload::Workload workload;
  bool is_aware = false;       ///< The network with links that are shared, not the closed form.
  bool is_rendezvous = false;  ///< Messages wait for the receiver's word.
  std::uint32_t queues_per_dim = 1;
  bool may_fold = true;  ///< Simulate one of many equal ranks where that is provably the same.
  /// Opens the ET files of a custom collective.
  std::function<workload::Workload(const std::string& prefix)> open_custom{};
  std::function<bool()> wants_stop{};
};

/// Nanoseconds, which ASTRA-sim calls cycles.
struct RankTimes {
  std::uint64_t cycles = 0;          ///< When the rank finished.
  std::uint64_t exposed_cycles = 0;  ///< Without the time of compute on the GPU.
  std::uint64_t gpu_cycles = 0;      ///< Time in which something computed, and so on.
  std::uint64_t communication_cycles = 0;
  std::uint64_t cpu_cycles = 0;
  std::uint64_t memory_cycles = 0;
  std::uint64_t overlap_cycles = 0;  ///< GPU and communication at once.
  bool operator==(const RankTimes&) const = default;
};

struct Outcome {
  std::vector<RankTimes> ranks;
  std::uint64_t cycles = 0;     ///< Of the rank that finished last.
  std::uint64_t events = 0;     ///< Simulated.
  std::uint32_t simulated = 0;  ///< Ranks that were simulated; fewer than `ranks` when they were folded.
  std::string unfolded{};       ///< Why not, when folding was allowed and not done.
  Warnings warnings{};
  std::uint64_t digest = 0;  ///< Of the results; the same whether folded or not.
};

/// InputError for what ASTRA-sim cannot run; SimulationError, with who waits on whom, when not all ranks finish.
[[nodiscard]] Outcome simulate(const Inputs& inputs);

}  // namespace orrery::astra
