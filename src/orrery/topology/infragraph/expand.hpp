// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Instances and edges of an InfraGraph file, expanded to numbered nodes and distinct pairs of them.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/topology/infragraph/infragraph.hpp"
#include "orrery/topology/infragraph/layout.hpp"
#include "orrery/topology/infragraph/pairing.hpp"

namespace orrery::topology::infragraph {

/// Nodes base .. base + count * size of the device are those of "name.0", "name.1", ...
struct InstanceBlock {
  std::string_view name;
  std::int32_t device = -1;
  std::uint32_t count = 0;
  std::uint32_t base = 0;
};

/// A link as edges use it; `row` is null when nothing declares it.
struct LinkUse {
  std::string_view name;
  const LinkRow* row = nullptr;
};

struct Expansion {
  std::vector<InstanceBlock> instances;
  std::uint32_t declared = 0;         ///< Nodes that components declare; numbered first.
  std::vector<std::string> phantoms;  ///< Names of the nodes after those (lenient mode).
  std::vector<ExpandedEdge> edges;    ///< One for each pair, in the order first met.
  std::vector<LinkUse> links;
  std::vector<std::string> remarks;

  [[nodiscard]] std::size_t node_count() const { return declared + phantoms.size(); }
};

/// The schema and the layouts outlive the result. Counts are checked against the options before anything of
/// that size is allocated.
[[nodiscard]] Expansion expand(const Infrastructure& infrastructure, const Layouts& layouts,
                               const Reader& reader, const InfraGraphOptions& options);

}  // namespace orrery::topology::infragraph
