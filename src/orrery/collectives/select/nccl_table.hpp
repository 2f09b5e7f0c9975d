// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What NCCL would run on a platform, and what it costs there, read from catalog/nccl/<platform>.yaml.
/// Two models side by side: `tuner` is NCCL's own estimate, which decides; the rest is fitted to measurements
/// and says how long the decided entry takes. Formulas, validity and error: docs/models/nccl.md.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/base/units.hpp"
#include "orrery/collectives/schedule.hpp"
#include "orrery/config/document.hpp"
#include "orrery/config/spec.hpp"

namespace orrery::collectives {

/// NCCL's estimate of an entry: latency + steps * step + (bytes each rank sends) / bandwidth.
struct NcclTuner {
  Duration latency{};
  Duration step{};
  Bandwidth bandwidth;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("latency", &NcclTuner::latency, "Once per collective.", config::Rule{.required = true});
    field("step", &NcclTuner::step, "Per step of the algorithm.", config::Rule{.required = true});
    field("bandwidth", &NcclTuner::bandwidth, "Of each rank.",
          config::Rule{.required = true, .positive = true});
  }
};

/// One (algorithm, protocol). A "message" is what one rank sends to one peer in one step.
struct NcclEntry {
  std::string algorithm;
  std::string protocol;
  std::vector<std::string> operations;
  std::optional<NcclTuner> tuner;
  std::optional<Bytes> max_message;
  bool floating_only = false;
  Duration launch{};
  Duration launch_wide{};
  Duration launch_per_peer{};
  Duration step_overhead{};
  double peak = 1.0;
  double peer_share = 1.0;
  double own_block = 0.0;
  Bytes ramp;
  double channels = 1.0;
  Bytes channel_bytes;
  std::int64_t pieces = 1;

  template <class Visitor>
  static void fields(Visitor&& field) {
    using config::Rule;
    const Rule share{.min = 1e-6, .max = 1};
    field("algorithm", &NcclEntry::algorithm, "Schedule that carries it out.",
          Rule{.required = true, .choices = {"ring", "direct", "offload"}});
    field("protocol", &NcclEntry::protocol, "NCCL's name for how bytes and flags travel.",
          Rule{.required = true});
    field("operations", &NcclEntry::operations, "Operations it serves.",
          Rule{.required = true, .choices = {"all_reduce", "all_gather", "reduce_scatter", "all_to_all"}});
    field("tuner", &NcclEntry::tuner, "NCCL's own estimate; absent counts as no time at all.");
    field("max_message", &NcclEntry::max_message, "Not chosen for larger messages.");
    field("floating_only", &NcclEntry::floating_only,
          "Not chosen for integers (switches reduce floating point).");
    field("launch", &NcclEntry::launch, "Before the first send, once per rank.", Rule{.required = true});
    field("launch_wide", &NcclEntry::launch_wide, "More launch as channels grow: times 1 - 1/channels used.");
    field("launch_per_peer", &NcclEntry::launch_per_peer, "More launch per peer; direct only.");
    field("step_overhead", &NcclEntry::step_overhead, "Per message, beside the path's latency.");
    field("peak", &NcclEntry::peak, "Most of the link's bandwidth it reaches.",
          Rule{.required = true, .min = share.min, .max = share.max});
    field("peer_share", &NcclEntry::peer_share, "Most of the link's bandwidth one peer's connection reaches.",
          share);
    field("own_block", &NcclEntry::own_block, "Work on the rank's own block, in messages.",
          Rule{.min = 0, .max = 100});
    field("ramp", &NcclEntry::ramp, "Message size that reaches half of the peak.");
    field("channels", &NcclEntry::channels, "Channels at work on large messages.",
          Rule{.min = 1, .max = 1024});
    field("channel_bytes", &NcclEntry::channel_bytes,
          "Message bytes per channel before one more is used; 0 = all used.");
    field("pieces", &NcclEntry::pieces, "Parts the buffer is cut into; offload only.",
          Rule{.min = 1, .max = 4096});
  }
};

struct NcclTable {
  std::string platform;
  std::string nccl;
  std::string source;
  Duration path_latency{};
  Bandwidth link_bandwidth;
  std::vector<NcclEntry> entries;

  template <class Visitor>
  static void fields(Visitor&& field) {
    using config::Rule;
    field("platform", &NcclTable::platform, "Key of the table.", Rule{.required = true});
    field("nccl", &NcclTable::nccl, "Version measured.", Rule{.required = true});
    field("source", &NcclTable::source, "Where the measurements come from.", Rule{.required = true});
    field("path_latency", &NcclTable::path_latency, "GPU to GPU, as assumed by the fit.",
          Rule{.required = true});
    field("link_bandwidth", &NcclTable::link_bandwidth, "Per GPU and direction, as assumed by the fit.",
          Rule{.required = true, .positive = true});
    field("entries", &NcclTable::entries, "What NCCL can run; earlier ones win ties.",
          Rule{.required = true});
  }
};

/// InputError with the place in the file on anything that is not a table.
[[nodiscard]] NcclTable load_nccl_table(const std::string& path);

/// A collective to choose for. `size` is the whole buffer: what all_reduce reduces, all_gather ends up with,
/// reduce_scatter starts from, one rank hands to all_to_all.
struct NcclRequest {
  Operation operation = Operation::kAllReduce;
  Rank ranks = 0;
  Bytes size;
  Duration path_latency{};   ///< Between two ranks, all links of the path.
  Bandwidth link_bandwidth;  ///< Of one rank, per direction; positive.
  bool floating = true;      ///< Element type; integers are not reduced in switches.
};

/// How to run it: the schedule, and what the runner adds to it.
struct NcclChoice {
  std::string algorithm;
  std::string protocol;
  std::uint32_t pieces = 1;
  Duration launch{};         ///< Before the first send, once per rank.
  Duration step_overhead{};  ///< Per message, before it enters the network.
  double efficiency = 1.0;   ///< Payload bytes are divided by this on the wire.
  Duration predicted{};      ///< Closed form, on an uncontended star.
};

/// Whether choose() has an answer for the operation.
[[nodiscard]] bool covers(const NcclTable& table, Operation operation);

/// Pure. InputError when the table has no entry for the request. One rank alone costs nothing.
[[nodiscard]] NcclChoice choose(const NcclTable& table, const NcclRequest& request);

[[nodiscard]] inline NcclChoice choose(const NcclTable& table, Operation operation, Rank ranks, Bytes size,
                                       Duration path_latency, Bandwidth link_bandwidth) {
  return choose(table, NcclRequest{.operation = operation,
                                   .ranks = ranks,
                                   .size = size,
                                   .path_latency = path_latency,
                                   .link_bandwidth = link_bandwidth});
}

}  // namespace orrery::collectives
