// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/astra_records.hpp"

#include <nlohmann/json.hpp>

#include "orrery/timeline/manifest.hpp"
#include "orrery/version.hpp"

namespace orrery::app {
namespace {

using Json = nlohmann::ordered_json;

constexpr const char* kAware = "astra_aware";
constexpr const char* kUnaware = "astra_unaware";

}  // namespace

AstraComparison compare_astra(const ReplayOptions& options) {
  AstraReplayOptions astra = *options.astra;
  const bool is_native = !options.network.empty() && options.network != kAware && options.network != kUnaware;
  astra.is_aware = options.network == kAware;
  astra.may_fold = options.folds;
  astra.wants_stop = options.wants_stop;
  AstraComparison comparison{.astra = replay_astra(astra), .command = options.command};
  if (is_native) comparison.native = replay(options);
  return comparison;
}

std::string to_json(const AstraComparison& comparison) {
  const astra::Outcome& outcome = comparison.astra.outcome;
  Json ranks = Json::array();
  for (std::size_t i = 0; i < outcome.ranks.size(); ++i) {
    const astra::RankTimes& times = outcome.ranks[i];
    ranks.push_back({{"rank", i},
                     {"cycles", times.cycles},
                     {"exposed_cycles", times.exposed_cycles},
                     {"gpu_cycles", times.gpu_cycles},
                     {"communication_cycles", times.communication_cycles},
                     {"cpu_cycles", times.cpu_cycles},
                     {"memory_cycles", times.memory_cycles},
                     {"overlap_cycles", times.overlap_cycles},
                     {"finish_ps", times.cycles * 1000},
                     {"exposed_communication_ps", times.exposed_cycles * 1000}});
  }
  const timeline::Manifest manifest{
      .version = std::string{kVersion},
      .commit = std::string{commit()},
      .seed = 0,
      .digest = outcome.digest,
      .configuration = {{"workload", comparison.astra.workload}, {"network", comparison.astra.network_model}},
      .command = comparison.command};
  Json json{{"total_ps", outcome.cycles * 1000},
            {"cycles", outcome.cycles},
            {"workload", comparison.astra.workload},
            {"network", comparison.astra.network_model},
            {"simulated_ranks", outcome.simulated},
            {"events", outcome.events},
            {"ranks", std::move(ranks)},
            {"warnings", outcome.warnings}};
  if (comparison.native) json["native"] = Json::parse(to_json(*comparison.native));
  json["manifest"] = timeline::to_json(manifest);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::app
