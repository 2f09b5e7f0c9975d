// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "orrery/app/trace_info.hpp"

namespace orrery::app {
namespace {

using Json = nlohmann::ordered_json;

Json number(const WideSum& sum) {
  if (sum.fits()) return sum.low();
  return sum.to_double();
}

Json traffic_json(const Traffic& traffic) {
  return {{"count", traffic.count}, {"bytes", number(traffic.bytes)}};
}

Json sums_json(const TraceSums& sums) {
  Json types = Json::object();
  for (const auto& [name, count] : sums.types) types[name] = count;
  Json collectives = Json::object();
  for (const auto& [name, traffic] : sums.collectives) collectives[name] = traffic_json(traffic);
  return {{"nodes", sums.nodes},
          {"dependencies", sums.dependencies},
          {"cpu_nodes", sums.on_cpu},
          {"types", std::move(types)},
          {"collectives", std::move(collectives)},
          {"sends", traffic_json(sums.sends)},
          {"receives", traffic_json(sums.receives)},
          {"loads", traffic_json(sums.loads)},
          {"stores", traffic_json(sums.stores)},
          {"flops", number(sums.flops)},
          {"compute_ps", number(sums.compute_ps)},
          {"host_ps", number(sums.host_ps)},
          {"transfer_ps", number(sums.transfer_ps)},
          {"unclear_nodes", sums.unclear}};
}

Json rank_json(const TraceRank& rank) {
  Json json{{"rank", rank.rank}, {"file", rank.file}, {"version", rank.version}};
  json.update(sums_json(rank.sums));
  json["critical_path"] = {{"time_ps", count_ps(rank.path.time)},
                           {"flops", rank.path.flops},
                           {"nodes", rank.path.ops},
                           {"exact", rank.is_path_exact && rank.stuck == 0},
                           {"stuck_nodes", rank.stuck}};
  return json;
}

}  // namespace

std::string to_json(const TraceInfo& info) {
  Json ranks = Json::array();
  for (const TraceRank& rank : info.ranks) ranks.push_back(rank_json(rank));
  Json groups = Json::object();
  for (const auto& [name, members] : info.groups) groups[name] = members;
  const Json json{{"name", info.name},           {"totals", sums_json(info.totals)},
                  {"groups", std::move(groups)}, {"ranks", std::move(ranks)},
                  {"warnings", info.warnings},   {"digest", fmt::format("{:016x}", info.digest)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::app
