// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The native cluster format: one YAML file with devices, nodes, links, ranks and events. docs/cluster.md is
/// its description; every field is in cluster_file_specs.hpp.
#include "orrery/config/document.hpp"
#include "orrery/topology/catalog.hpp"
#include "orrery/topology/cluster.hpp"
#include "orrery/topology/generators/generator.hpp"

namespace orrery::topology {

/// InputError with file, line, column, field, value and what was expected on any mistake.
[[nodiscard]] Cluster read_cluster(const config::Document& document, const Catalog& catalog,
                                   const GeneratorRegistry& generators);

}  // namespace orrery::topology
