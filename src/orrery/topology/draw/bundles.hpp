// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Links that are alike, taken together: "1,024 x 400Gbps, 500ns between host.nic and leaf".
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/topology/cluster.hpp"

namespace orrery::topology {

struct Bundle {
  std::string ends;  ///< "host.nic - leaf".
  LinkSpec forward;  ///< From the first end to the second.
  LinkSpec backward;
  bool is_half_duplex = false;
  std::size_t count = 0;     ///< Cables.
  std::size_t per_pair = 1;  ///< Most cables between two nodes.
};

struct Bundles {
  std::vector<Bundle> all;             ///< In order of first appearance in the graph.
  std::vector<std::uint32_t> of_edge;  ///< Index into `all` of each edge of the graph.
};

/// A node's name without its indices: "host.gpu" for "host[3].gpu[1]" and for "host.3.gpu.1".
[[nodiscard]] std::string stem_of(std::string_view name);

[[nodiscard]] Bundles bundle_links(const Graph& graph);

/// "1,024 x 400Gbps, 500ns".
[[nodiscard]] std::string describe(const Bundle& bundle);

/// "400Gbps", and "450GB/s" from a terabit on, which is how such links are spoken of.
[[nodiscard]] std::string rate_text(Bandwidth bandwidth);

/// 1234567 as "1,234,567".
[[nodiscard]] std::string grouped(std::size_t number);

}  // namespace orrery::topology
