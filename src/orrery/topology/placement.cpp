// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/placement.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <unordered_map>

#include "orrery/base/check.hpp"

namespace orrery::topology {
namespace {

/// Where an endpoint stands: its host, in order of first appearance, and its place among that host's devices.
struct Seat {
  std::uint32_t host = 0;
  std::uint32_t rail = 0;
};

std::vector<Seat> seats_of(const Draft& draft, const std::vector<std::uint32_t>& allowed) {
  std::unordered_map<std::string, std::uint32_t> host_of_group;  // Looked up only, never iterated.
  std::vector<std::uint32_t> devices_of_host;
  std::vector<Seat> seats;
  seats.reserve(allowed.size());
  for (const std::uint32_t endpoint : allowed) {
    const std::string& group = draft.node_group[draft.endpoints[endpoint].index()];
    auto host = static_cast<std::uint32_t>(devices_of_host.size());
    if (!group.empty()) host = host_of_group.emplace(group, host).first->second;
    if (host == devices_of_host.size()) devices_of_host.push_back(0);
    seats.push_back({host, devices_of_host[host]++});
  }
  return seats;
}

}  // namespace

std::vector<std::uint32_t> all_endpoints(const Draft& draft) {
  std::vector<std::uint32_t> endpoints(draft.endpoints.size());
  std::iota(endpoints.begin(), endpoints.end(), 0U);
  return endpoints;
}

std::vector<std::uint32_t> order_ranks(const Draft& draft, const PlacementSpec& spec,
                                       const std::vector<std::uint32_t>& allowed, const config::Cursor& at) {
  if (allowed.empty()) at.fail("there is no device to place a rank on");
  const std::int64_t per_device = spec.per_device.value_or(draft.ranks_per_device);
  const std::int64_t ranks = static_cast<std::int64_t>(allowed.size()) * per_device;
  if (ranks > kMaxRanks) {
    at.fail(fmt::format("this makes {} ranks; at most {} are accepted", ranks, kMaxRanks));
  }

  std::vector<std::size_t> order(allowed.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  if (spec.by == "host" || spec.by == "rail") {
    const std::vector<Seat> seats = seats_of(draft, allowed);
    const bool by_host = spec.by == "host";
    std::ranges::sort(order, {},
                      [&](std::size_t i) { return std::pair{by_host ? seats[i].host : seats[i].rail, i}; });
  }
  std::vector<std::uint32_t> placed;
  placed.reserve(static_cast<std::size_t>(ranks));
  const bool round_robin = spec.by == "round_robin";
  for (std::int64_t pass = 0; pass < (round_robin ? per_device : 1); ++pass) {
    for (const std::size_t i : order) {
      placed.insert(placed.end(), round_robin ? 1U : static_cast<std::size_t>(per_device), allowed[i]);
    }
  }
  if (spec.count) {
    if (*spec.count > ranks) {
      at.at("count").fail(
          fmt::format("expected at most {}: {} devices with {} each", ranks, allowed.size(), per_device));
    }
    placed.resize(static_cast<std::size_t>(*spec.count));
  }
  return placed;
}

Cluster finish_cluster(Draft draft, std::string name, const std::vector<std::uint32_t>& endpoint_of_rank) {
  ORRERY_CHECK(draft.endpoints.size() == draft.endpoint_device.size(), "an endpoint without a device kind");
  Cluster cluster;
  cluster.name = std::move(name);
  cluster.warnings = std::move(draft.warnings);
  cluster.devices = std::move(draft.devices);
  std::vector<bool> is_used(draft.endpoints.size(), false);
  cluster.ranks.reserve(endpoint_of_rank.size());
  cluster.device_of_rank.reserve(endpoint_of_rank.size());
  for (const std::uint32_t endpoint : endpoint_of_rank) {
    cluster.ranks.push_back(draft.endpoints.at(endpoint));
    cluster.device_of_rank.push_back(draft.endpoint_device[endpoint]);
    is_used[endpoint] = true;
  }
  cluster.graph = std::move(draft.graph);
  cluster.graph.finish();
  if (std::ranges::any_of(draft.node_group, [](const std::string& group) { return !group.empty(); })) {
    cluster.node_group = std::move(draft.node_group);
  }
  const auto idle = std::ranges::count(is_used, false);
  if (idle > 0) {
    cluster.warnings.push_back(fmt::format("{} of {} devices hold no rank", idle, is_used.size()));
  }
  const std::size_t parts = cluster.graph.component_count();
  if (parts > 1) cluster.warnings.push_back(fmt::format("the graph is in {} unconnected parts", parts));
  return cluster;
}

}  // namespace orrery::topology
