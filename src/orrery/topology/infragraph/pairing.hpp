// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Two lists of nodes to edges, and edges to one for each pair.
#include <cstdint>
#include <vector>

#include "orrery/topology/infragraph/schema.hpp"

namespace orrery::topology::infragraph {

struct ExpandedEdge {
  std::uint32_t a = 0;
  std::uint32_t b = 0;
  std::uint32_t link = 0;  ///< Into Expansion::links.
};

/// A row of an `edges` list, with what messages about it need.
struct EdgeSite {
  const EdgeRow& row;
  const std::string& list;  ///< "devices[0].edges".
  std::size_t index;
};

/// Appends the edges that `site.row` makes of two expanded endpoints: zip or product, never a node with itself.
/// `budget` is how many pairs may still be made; InputError when this row needs more, and in strict mode on
/// uneven lists and on rows that join nothing.
void pair_up(const Reader& reader, const EdgeSite& site, const std::vector<std::uint32_t>& first,
             const std::vector<std::uint32_t>& second, std::uint32_t link, std::size_t& budget,
             std::vector<ExpandedEdge>& edges);

/// One edge for each pair of nodes: the place of the first, the link of the last, as upstream's graph keeps it.
/// Returns how many pairs had links that differ.
std::size_t merge_parallel(std::vector<ExpandedEdge>& edges);

}  // namespace orrery::topology::infragraph
