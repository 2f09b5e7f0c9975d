// SPDX-License-Identifier: Apache-2.0
#pragma once
/// InfraGraph (github.com/Keysight/infragraph, schema 2.4 to 3.1) in and out. docs/infragraph.md has the rules.
///
/// An InfraGraph file describes devices with components, instances of them, and edges by slices such as
/// "xpu[0:8]"; reading it expands all of that into one explicit graph. Nodes are named as upstream names them
/// ("host.0.xpu.3"), every edge is a full-duplex cable, and a pair of nodes has at most one.
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/config/document.hpp"
#include "orrery/topology/cluster.hpp"

namespace orrery::topology {

/// What a link carries when the file does not say: one row of catalog/infragraph_links.yaml.
struct LinkDefault {
  std::string
      pattern;  ///< A link name; '*' matches any run of characters. The first row that matches counts.
  std::optional<Bandwidth> bandwidth;
  std::optional<Duration> latency;
};

struct InfraGraphOptions {
  /// Follow upstream exactly: unknown components, out-of-range indices and uneven lists are passed over in
  /// silence. The default is to refuse them.
  bool lenient = false;
  std::vector<LinkDefault>
      link_defaults{};  ///< From read_link_defaults(); empty = only the two values below.
  Bandwidth fallback_bandwidth = Bandwidth::bits_per_second(100'000'000'000);  ///< Used with a warning.
  Duration fallback_latency = std::chrono::nanoseconds{500};
  std::size_t max_nodes = 4'000'000;   ///< Expansion stops with an error before it allocates more.
  std::size_t max_edges = 16'000'000;  ///< Counted before duplicates are merged.
};

/// True when the document has the shape of an InfraGraph file (also the superseded one, so that
/// read_infragraph can say so) and not that of a native cluster file.
[[nodiscard]] bool is_infragraph(const config::Document& document);

/// InputError with file, line and field on anything that cannot be meant; lesser oddities become warnings.
[[nodiscard]] Cluster read_infragraph(const config::Document& document,
                                      const InfraGraphOptions& options = {});

/// catalog/infragraph_links.yaml as rows.
[[nodiscard]] std::vector<LinkDefault> read_link_defaults(const config::Document& document);

/// The cluster as InfraGraph YAML that reads back with the same nodes, cables, link values and ranks.
[[nodiscard]] std::string write_infragraph(const Cluster& cluster);

}  // namespace orrery::topology
