// SPDX-License-Identifier: Apache-2.0
#pragma once
/// `orrery trace info` as a call: what is in a trace, read once, with memory bounded whatever the length of the files.
#include <array>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/app/trace_path.hpp"
#include "orrery/app/wide_sum.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::app {

struct Traffic {
  std::uint64_t count = 0;
  WideSum bytes{};
  bool operator==(const Traffic&) const = default;
};

/// Sums over nodes: of a rank, or of all.
struct TraceSums {
  std::uint64_t nodes = 0;
  std::uint64_t dependencies = 0;
  std::uint64_t on_cpu = 0;                      ///< Nodes that run on the host.
  std::map<std::string, std::uint64_t> types{};  ///< By Chakra's name.
  std::map<std::string, Traffic> collectives{};  ///< By operation.
  Traffic sends{};
  Traffic receives{};
  Traffic loads{};
  Traffic stores{};
  WideSum flops{};
  WideSum compute_ps{};     ///< Recorded time of compute nodes on the device.
  WideSum host_ps{};        ///< The same on the host.
  WideSum transfer_ps{};    ///< Recorded time of communication and of memory nodes.
  std::uint64_t unclear{};  ///< Nodes that lack what they need; counted by type only.
  void add(const TraceSums& other);
  bool operator==(const TraceSums&) const = default;
};

struct TraceRank {
  workload::Rank rank = 0;
  std::string file;
  std::string version;
  TraceSums sums{};
  PathLength path{};
  bool is_path_exact = true;
  std::uint64_t stuck = 0;  ///< Nodes whose dependencies never come.
};

struct TraceInfo {
  std::string name;
  std::vector<TraceRank> ranks{};
  TraceSums totals{};
  workload::Groups groups{};            ///< As metadata nodes name them.
  std::vector<std::string> warnings{};  ///< About nodes that lack what they need: the first of each rank.
  std::uint64_t digest = 0;             ///< Of every node's meaning.
};

/// `path` is a file, a folder or a prefix. InputError for what cannot be found or read.
[[nodiscard]] TraceInfo trace_info(const std::string& path);
[[nodiscard]] std::string to_json(const TraceInfo& info);

}  // namespace orrery::app
