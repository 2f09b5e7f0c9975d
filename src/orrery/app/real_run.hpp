// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery run --real`: a torch.distributed program on this host, over gloo, noted as a simulated run is.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "orrery/app/live_run.hpp"
#include "orrery/live/record/real_timeline.hpp"

namespace orrery::app {

/// A link between namespaces: "1Gbps", "200Mbps,burst=64KiB".
struct RealLink {
  Bandwidth rate;
  Bytes burst;
};

struct RealOptions {
  live::LaunchOptions launch;
  std::int64_t repeat = 1;
  std::string link;    ///< "" = loopback.
  std::string warmup;  ///< As for a simulated run.
  std::string output;  ///< Folder for the results, or "".
  std::string keep;    ///< Folder to make for the recordings, each launch's in its own; "" = they are not kept.
  bool output_to_stderr = false;
  bool records = true;  ///< False: only how long each rank took, to see what recording costs.
  std::vector<std::string> command;
  std::string option_prefix;
  std::function<bool()> wants_stop;
  std::function<void(const std::string&)> say;
};

/// One launch after another; the result is that of the median launch, with the totals of all.
[[nodiscard]] LiveResult run_real(const RealOptions& options);

/// Every launch by itself, before anything is made of it.
[[nodiscard]] std::vector<live::RealTimeline> launch_real(const RealOptions& options,
                                                          std::vector<std::string>& notes);

/// The launches whose rank.N.record are in `folder`, or in folders below it, in the order of their names.
[[nodiscard]] std::vector<live::RealTimeline> read_launches(const std::string& folder);

/// The rank.N.record of a folder as a result (`python -m orrery.record` writes them); a folder of such folders is a
/// run with repeats.
[[nodiscard]] LiveResult merge_records(const std::string& folder, const std::string& output,
                                       const std::vector<std::string>& command);

[[nodiscard]] std::optional<RealLink> parse_link(const std::string& text);

}  // namespace orrery::app
