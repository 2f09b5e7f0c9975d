// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery replay` as a call: a workload on a cluster, and what each rank did with its time.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "orrery/app/astra_replay.hpp"
#include "orrery/timeline/manifest.hpp"
#include "orrery/workload/collective_board.hpp"
#include "orrery/workload/memory_use.hpp"
#include "orrery/workload/rank_times.hpp"

namespace orrery::app {

struct ReplayProgress {
  std::uint64_t operations = 0;  ///< Done so far, of all ranks.
  std::uint32_t ranks_done = 0;
  std::uint32_t ranks = 0;
  Time now{};
};

/// Values are texts where the command line has texts, so that every front reports mistakes alike.
struct ReplayOptions {
  std::string trace{};  ///< Prefix, folder or file of execution traces, or "make:..." as generated.
  std::string cluster{};
  /// ASTRA-sim's files instead of trace and cluster: its graph and algorithms, on `network`.
  std::optional<AstraReplayOptions> astra{};
  std::string network{};  ///< "" = flow.
  /// "" = what the cluster's library would choose; one word for all, or "all_reduce=ring,all_to_all=direct".
  std::string algorithm{};
  std::string compute{};                ///< "" = recorded.
  std::optional<std::int64_t> ranks{};  ///< Run it on so many ranks; absent = as many as it has.
  std::string comm_group{};             ///< File of process groups, or "".
  std::string streams{};                ///< "cpu=1,compute=1,comm=1,memory=1".
  std::string eager_limit{};            ///< "" = 0; of ASTRA-sim's files no limit, as there.
  std::int64_t window = 0;              ///< Operations held per rank; 0 = as memory allows.
  bool folds = true;
  std::uint64_t seed = 0;
  std::string output{};      ///< Folder for all results, or "".
  std::string trace_file{};  ///< Timeline to write, or "".
  std::string csv{};         ///< Table of ranks to write, or "".
  bool lenient = false;
  std::string catalog{};
  std::string option_prefix{};         ///< "--" for messages about options.
  std::vector<std::string> command{};  ///< As typed, for the manifest.
  std::function<bool()> wants_stop{};
  std::function<void(const ReplayProgress&)> on_progress{};
};

struct ReplayRank {
  workload::RankTimes times;
  std::string node;
  std::string device;
  std::vector<workload::MemoryStep> memory;  ///< Of its tensors; empty where the trace does not name them.
};

/// The highest step, the first of several.
[[nodiscard]] workload::MemoryStep peak_memory(const ReplayRank& rank);

struct ReplayLink {
  std::string name;
  std::int64_t bytes = 0;
  std::uint64_t messages = 0;
  double utilization = 0;  ///< Bytes over what it could have carried in the whole time.
  std::uint64_t packets = 0;
  std::uint64_t drops = 0;
  std::uint64_t marks = 0;
  std::uint64_t pauses = 0;
  std::int64_t longest_queue_bytes = 0;
};

struct ReplayResult {
  std::int64_t total_ps = 0;  ///< When the last rank was done.
  std::vector<ReplayRank> ranks;
  std::vector<workload::CollectiveTotal> collectives;  ///< By time, longest first.
  std::vector<ReplayLink> links;                       ///< Those that carried something, busiest first.
  std::uint64_t operations = 0;
  std::uint64_t messages = 0;  ///< Sends; those of collectives are counted there.
  std::int64_t message_bytes = 0;
  std::string workload;
  std::string cluster;
  std::string network;
  std::string algorithm;
  std::string compute;
  std::vector<std::string> notes;
  std::vector<std::string> files;  ///< Written.
  double wall_seconds = 0;         ///< Not in any file.
  timeline::Manifest manifest;
};

/// InputError, SimulationError, engine::Interrupted. Files appear whole or not at all.
[[nodiscard]] ReplayResult replay(const ReplayOptions& options);
/// {"total_ps", "ranks": [...], "collectives": [...], "links": [...], "manifest": {...}}, with a final newline.
[[nodiscard]] std::string to_json(const ReplayResult& result);

}  // namespace orrery::app
