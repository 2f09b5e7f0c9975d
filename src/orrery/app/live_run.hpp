// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery run`: a torch.distributed program on a simulated cluster.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/engine/observer.hpp"
#include "orrery/live/launch.hpp"
#include "orrery/live/rank/orrery_rank.h"
#include "orrery/live/rank_times.hpp"
#include "orrery/timeline/manifest.hpp"

namespace orrery::app {

struct LiveProgress {
  Time now{};
  std::uint32_t ranks = 0;
  std::uint32_t computing = 0;
  std::uint32_t communicating = 0;
  std::uint32_t done = 0;
};

struct LiveOptions {
  std::string cluster;
  std::string network = "flow";
  std::string algorithm;       ///< "" = what the cluster's library would choose.
  live::LaunchOptions launch;  ///< The program and how its ranks are started.
  std::string compute = "measured";
  std::int64_t jobs = 1;
  std::string device_map;     ///< "cuda=cpu", or "".
  std::string warmup;         ///< "3" optimizer steps, "barrier:2", "mark:NAME", or "".
  std::string faults;         ///< A file, or "".
  std::string output;         ///< Folder for the results, or "".
  std::string capture;        ///< Folder for execution traces of the ranks, or "".
  bool follows_data = false;  ///< The capture says what computing does not need what came from others.
  std::uint64_t seed = 0;
  bool tags_output = false;
  bool output_to_stderr = false;  ///< The ranks' standard output goes to ours for errors.
  std::string catalog;
  std::vector<std::string> command;  ///< As typed, for the manifest.
  std::string option_prefix;         ///< "--" for messages about options.
  std::function<bool()> wants_stop;
  std::function<void(const std::string&)> say;
  std::function<void(const LiveProgress&)> progress;
};

struct LiveRank {
  live::RankTimes times;
  std::string device;
  std::string node;
  std::int64_t memory_bytes = 0;               ///< Of its process at its peak, on this machine.
  std::optional<orrery_memory> device_memory;  ///< With a device map.
  std::int64_t device_bytes = 0;               ///< What the device has; 0: its description does not say.
};

struct OperationTotal {
  std::string name;
  std::uint64_t calls = 0;  ///< Of all ranks.
  std::int64_t bytes = 0;
  Duration time{};     ///< From when all parties were there, summed over ranks.
  Duration waiting{};  ///< Before that.
};

/// One launch of a real run.
struct LiveRepeat {
  std::int64_t total_ps = 0;
  std::vector<live::RankTimes> ranks;
  std::vector<OperationTotal> operations;  ///< After the warm-up.
};

struct LiveResult {
  std::string kind = "simulated";  ///< Or "real".
  std::int64_t total_ps = 0;       ///< From the end of the last rank's warm-up to the end of the last rank.
  std::int64_t begin_ps = 0;       ///< The end of the last rank's warm-up.
  std::vector<LiveRank> ranks;
  std::vector<OperationTotal> operations;  ///< After the warm-up; by time, largest first.
  std::int64_t wire_bytes = 0;
  std::string cluster;
  std::string network;
  std::string algorithm;
  std::string compute;
  double wall_seconds = 0;
  std::int64_t memory_bytes = 0;  ///< Of all ranks together at their peaks, shared pages once.
  std::vector<std::string> notes;
  timeline::Manifest manifest;
  std::vector<LiveRepeat> repeats;  ///< Of a real run.
  std::size_t median_repeat = 0;    ///< Whose figures stand above.
  int program_status = 0;
  bool program_was_killed = false;
  std::string program_end;  ///< "exited with status 1", of a program that did not join.
  bool has_joined = true;   ///< False: the program never called init_process_group.
};

[[nodiscard]] LiveResult run_live(const LiveOptions& options);
[[nodiscard]] std::string to_json(const LiveResult& result);

}  // namespace orrery::app
