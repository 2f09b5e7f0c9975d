// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The one door to clusters: a file, a preset, or a generator in one line.
#include <string>

#include "orrery/topology/cluster.hpp"
#include "orrery/topology/generators/generator.hpp"

namespace orrery::topology {

struct LoadOptions {
  std::string source = "--cluster";  ///< What to call `text` in errors.
  std::string catalog;               ///< Folder of presets and devices; "" = catalog_directory().
  bool lenient = false;              ///< InfraGraph: follow upstream where it is looser than its own rules.
  GeneratorRegistry generators = builtin_generators();
};

/// `text` is, in this order:
///   a generator with its fields    "star:hosts=64,bandwidth=200Gbps,latency=500ns"
///   the path of a file             native YAML, or InfraGraph YAML or JSON; which one is seen from its keys
///   the name of a preset           "hgx-h100": catalog/clusters/hgx-h100.yaml
/// InputError names the nearest preset or generator when it is none of them.
[[nodiscard]] Cluster load_cluster(const std::string& text, const LoadOptions& options = {});

}  // namespace orrery::topology
