// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/astra_replay.hpp"

#include <filesystem>

#include "orrery/astra/cluster.hpp"
#include "orrery/base/error.hpp"
#include "orrery/chakra/open_traces.hpp"

namespace orrery::app {
namespace {

/// ASTRA-sim takes paths inside the system file from the working folder. What is not there may stand beside the file.
workload::Workload open_beside(const std::string& prefix, const std::string& system) {
  try {
    return chakra::open_traces(prefix);
  } catch (const InputError& first) {
    const std::filesystem::path beside = std::filesystem::path{system}.parent_path() / prefix;
    try {
      return chakra::open_traces(beside.string());
    } catch (const InputError&) {
      throw InputError{system + ": custom collective: " + first.what()};
    }
  }
}

}  // namespace

astra::Inputs read_astra_inputs(const AstraReplayOptions& options, astra::Warnings& warnings) {
  if (options.queues_per_dim < 1 || options.queues_per_dim > 1024) {
    throw InputError{"num-queues-per-dim: expected 1 to 1024"};
  }
  if (options.comm_scale != 1) {
    warnings.emplace_back("comm-scale has no effect in ASTRA-sim; so it has none here");
  }
  if (options.compute_scale != 1) {
    warnings.emplace_back("compute-scale has no effect in ASTRA-sim; so it has none here");
  }
  astra::Inputs inputs;
  inputs.system = astra::read_system(options.system, options.injection_scale, warnings);
  inputs.network = astra::read_network(options.network, warnings);
  if (!options.memory.empty()) inputs.memory = astra::read_memory(options.memory, warnings);
  if (!options.comm_group.empty()) {
    inputs.groups = astra::read_groups(options.comm_group, inputs.network.npus());
  }
  inputs.workload = chakra::open_traces(options.workload, options.comm_group);
  inputs.is_aware = options.is_aware;
  inputs.is_rendezvous = options.is_rendezvous;
  inputs.queues_per_dim = options.queues_per_dim;
  inputs.may_fold = options.may_fold;
  inputs.open_custom = [system = options.system](const std::string& prefix) {
    return open_beside(prefix, system);
  };
  inputs.wants_stop = options.wants_stop;
  return inputs;
}

AstraReplayResult replay_astra(const AstraReplayOptions& options) {
  const auto tell = [&](const char* text) {
    if (options.on_progress) options.on_progress(text);
  };
  tell("reading");
  astra::Warnings warnings;
  const astra::Inputs inputs = read_astra_inputs(options, warnings);
  tell("simulating");
  AstraReplayResult result{.workload = inputs.workload.name,
                           .network_model = options.is_aware ? "astra_aware" : "astra_unaware",
                           .outcome = astra::simulate(inputs)};
  warnings.insert(warnings.end(), result.outcome.warnings.begin(), result.outcome.warnings.end());
  result.outcome.warnings = std::move(warnings);
  return result;
}

topology::Cluster astra_cluster(const std::string& network_file, astra::Warnings& warnings) {
  return astra::build_cluster(astra::read_network(network_file, warnings));
}

}  // namespace orrery::app
