// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/live_device_map.hpp"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <vector>

#include "orrery/app/live_plan.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"

namespace orrery::app {
namespace {

constexpr const char* kMap = "cuda=cpu";

/// Ranks of one host: those on nodes of one group. A cluster without groups is one host, as it is for LOCAL_RANK.
std::string host_of(const topology::Cluster& cluster, std::size_t rank) {
  return cluster.node_group.empty() ? std::string{} : cluster.node_group[cluster.ranks[rank].index()];
}

}  // namespace

void check_device_map(const LiveOptions& options) {
  if (options.compute == "fake" && options.device_map.empty()) {
    refuse_option(options, "compute", options.compute,
                  "needs --device-map cuda=cpu: it is the program's CUDA tensors that have no data");
  }
  if (options.device_map.empty()) return;
  if (options.device_map != kMap) {
    throw InputError{
        {.source = options.option_prefix + "device-map",
         .position = {},
         .field = {},
         .value = options.device_map,
         .expected = "expected cuda=cpu: what the program takes for CUDA runs on this host's CPU",
         .nearest = nearest_name(options.device_map, {kMap})}};
  }
  if (!options.capture.empty()) {
    refuse_option(options, "capture", options.capture,
                  "a run with --device-map cannot be captured: a trace has no streams of a device");
  }
}

std::string device_map_text(const LiveOptions& options, const topology::Cluster& cluster, std::size_t ranks) {
  if (options.device_map.empty()) return {};
  std::map<std::string, std::size_t> sizes;                // Devices of each host.
  std::map<std::string, std::size_t> numbers;              // Hosts, in order of their first rank.
  std::map<std::string, std::vector<std::size_t>> locals;  // Ranks of each host that are started.
  for (std::size_t rank = 0; rank < cluster.ranks.size(); ++rank) ++sizes[host_of(cluster, rank)];
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::string host = host_of(cluster, rank);
    numbers.emplace(host, numbers.size());
    locals[host].push_back(rank);
  }
  nlohmann::ordered_json text;
  text["map"] = options.device_map;
  text["devices"] = nlohmann::ordered_json::array();
  for (const topology::DeviceSpec& device : cluster.devices) {
    text["devices"].push_back({{"name", device.name}, {"memory", device.memory.count()}});
  }
  text["fake"] = options.compute == "fake";
  text["hosts"] = numbers.size();
  text["ranks"] = nlohmann::ordered_json::array();
  for (std::size_t rank = 0; rank < ranks; ++rank) {
    const std::string host = host_of(cluster, rank);
    const std::vector<std::size_t>& local = locals[host];
    const auto place = std::ranges::find(local, rank) - local.begin();
    // Host, number on it, ranks on it, devices of it, kind of device.
    text["ranks"].push_back({numbers[host], place, local.size(), sizes[host], cluster.device_of_rank[rank]});
  }
  return text.dump();
}

void read_device_memory(const live::RankPage& page, const topology::DeviceSpec& device, LiveRank& rank) {
  rank.device_memory = page.memory;
  rank.device_bytes = device.memory.count();
}

}  // namespace orrery::app
