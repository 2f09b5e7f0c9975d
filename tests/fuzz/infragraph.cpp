// SPDX-License-Identifier: Apache-2.0
// Goal: no text breaks the InfraGraph reader in either mode; what it accepts is written and read back alike.
#include "orrery/topology/infragraph/infragraph.hpp"

#include <cstdint>
#include <string_view>

#include "orrery/base/check.hpp"

namespace {

using namespace orrery;

void check_round_trip(const topology::Cluster& cluster, const topology::InfraGraphOptions& options) {
  std::string text;
  try {
    text = topology::write_infragraph(cluster);
  } catch (const InputError&) {  // Annotated parallel cables that differ.
    return;
  }
  const auto again = topology::read_infragraph(config::Document::parse(text, "written"), options);
  ORRERY_CHECK(again.graph.node_count() == cluster.graph.node_count(), "nodes were lost:\n{}", text);
  ORRERY_CHECK(again.graph.edge_count() == cluster.graph.edge_count(), "edges were lost:\n{}", text);
  ORRERY_CHECK(again.ranks.size() == cluster.ranks.size(), "ranks were lost:\n{}", text);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text{reinterpret_cast<const char*>(data), size};
  for (const bool lenient : {false, true}) {
    try {
      const auto document =
          config::Document::parse(text, "fuzz", {.bytes = 1 << 20, .nodes = 20'000, .depth = 32});
      static_cast<void>(topology::is_infragraph(document));
      topology::InfraGraphOptions options;
      options.lenient = lenient;
      options.max_nodes = 2'000;
      options.max_edges = 8'000;
      const topology::Cluster cluster = topology::read_infragraph(document, options);
      options.lenient = false;
      options.max_nodes = 20'000;
      options.max_edges = 80'000;
      check_round_trip(cluster, options);
    } catch (const InputError&) {
    }
  }
  return 0;
}
