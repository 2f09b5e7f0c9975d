// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The `annotations` beside an infrastructure: ranks of nodes, values of links and edges. Other attributes are
/// the user's own and mean nothing here.
#include <cstdint>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "orrery/topology/infragraph/link_values.hpp"

namespace orrery::topology::infragraph {

struct Annotations {
  std::vector<std::uint32_t> ranks;                            ///< Node of each rank; empty = nothing said.
  std::unordered_map<std::string_view, LinkOverride> by_link;  // By name; looked up only.
  std::unordered_map<std::uint32_t, LinkOverride> by_edge;  // By place in Expansion::edges; looked up only.
};

/// `kinds` are those of the nodes. Names are ids ("host.0.xpu.3"), prefixes of ids ("host.0"), or slices
/// ("host[0:2]xpu[0:3]"). InputError on names of nothing and on ranks that are not 0, 1, ... once each.
[[nodiscard]] Annotations read_annotations(const Reader& reader, const Expansion& expansion,
                                           const Layouts& layouts, const std::vector<NodeKind>& kinds);

}  // namespace orrery::topology::infragraph
