// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Placement: which rank sits on which device. The last step from a draft to a cluster.
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/config/spec.hpp"
#include "orrery/topology/generators/draft.hpp"

namespace orrery::topology {

inline constexpr std::int64_t kMaxRanks = kMaxNodes;

/// `ranks:` of a cluster file when it is a mapping.
struct PlacementSpec {
  std::string by = "device";
  std::optional<std::int64_t> per_device;  ///< Absent = what the draft says, usually one.
  std::optional<std::int64_t> count;
  std::optional<std::string> on;
  template <class Visitor>
  static void fields(Visitor&& field) {
    using config::Rule;
    field(
        "by", &PlacementSpec::by,
        "device: in the order devices are described; host: host after host; rail: the first device of every "
        "host, then the second; round_robin: one rank per device, then again.",
        Rule{.choices = {"device", "host", "rail", "round_robin"}});
    field("per_device", &PlacementSpec::per_device, "Ranks that share one device.",
          Rule{.min = 1, .max = 4096});
    field("count", &PlacementSpec::count, "Keep only the first so many ranks.",
          Rule{.min = 1, .max = static_cast<double>(kMaxRanks)});
    field("on", &PlacementSpec::on, "Use only these devices, e.g. host[0:2].gpu[*].");
  }
};

/// The endpoint (index into draft.endpoints) of each rank. `allowed` lists the endpoints that may be used, in
/// order; errors are reported at `at`.
[[nodiscard]] std::vector<std::uint32_t> order_ranks(const Draft& draft, const PlacementSpec& spec,
                                                     const std::vector<std::uint32_t>& allowed,
                                                     const config::Cursor& at);

/// Every endpoint of the draft, in its order.
[[nodiscard]] std::vector<std::uint32_t> all_endpoints(const Draft& draft);

/// Finishes the graph and seats the ranks. Unconnected parts and devices without a rank become warnings.
[[nodiscard]] Cluster finish_cluster(Draft draft, std::string name,
                                     const std::vector<std::uint32_t>& endpoint_of_rank);

}  // namespace orrery::topology
