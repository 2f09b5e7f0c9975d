// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/draw/outline.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "orrery/topology/draw/bundles.hpp"

namespace orrery::topology {

Outline::Outline(const Cluster& cluster, const std::vector<int>& tiers)
    : cluster_{cluster}, tiers_{tiers}, groups_{1} {
  std::unordered_map<std::string, std::uint32_t> known;  // Looked up only, never iterated.
  known.emplace("", 0U);
  for (std::size_t node = 0; node < cluster.graph.node_count(); ++node) {
    const std::string path = cluster.node_group.empty() ? std::string{} : cluster.node_group[node];
    std::uint32_t parent = 0;
    for (std::size_t end = 0; !path.empty() && end != std::string::npos;) {
      end = path.find('/', end == 0 ? 0 : end + 1);
      const auto [found, is_new] =
          known.emplace(path.substr(0, end), static_cast<std::uint32_t>(groups_.size()));
      if (is_new) {
        const std::size_t begin = found->first.rfind('/');
        groups_.emplace_back().name =
            begin == std::string::npos ? found->first : found->first.substr(begin + 1);
        groups_[parent].groups.push_back(found->second);
      }
      parent = found->second;
    }
    groups_[parent].nodes.push_back(NodeId{node});
  }
  measure(0);
}

void Outline::measure(std::uint32_t index) {
  OutlineGroup& group = groups_[index];
  group.low = std::numeric_limits<int>::max();
  group.high = 0;
  group.size = group.nodes.size();
  for (const NodeId node : group.nodes) {
    group.low = std::min(group.low, tiers_[node.index()]);
    group.high = std::max(group.high, tiers_[node.index()]);
  }
  for (const std::uint32_t below : group.groups) {
    measure(below);
    group.low = std::min(group.low, groups_[below].low);
    group.high = std::max(group.high, groups_[below].high);
    group.size += groups_[below].size;
  }
}

OutlineRun Outline::shorten(std::vector<std::uint32_t> entries) const {
  OutlineRun run;
  run.total = entries.size();
  if (entries.size() > limit_) {
    entries = limit_ > 2 ? std::vector{entries[0], entries[1], entries.back()}
                         : std::vector{entries[0], entries.back()};
  }
  run.shown = std::move(entries);
  return run;
}

std::vector<OutlineRun> Outline::group_runs(std::uint32_t index) const {
  std::vector<OutlineRun> runs;
  std::vector<std::uint32_t> open;
  std::string stem;
  for (const std::uint32_t below : groups_[index].groups) {
    std::string next = stem_of(groups_[below].name);
    if (!open.empty() && next != stem) runs.push_back(shorten(std::move(open))), open.clear();
    stem = std::move(next);
    open.push_back(below);
  }
  if (!open.empty()) runs.push_back(shorten(std::move(open)));
  return runs;
}

std::vector<OutlineRun> Outline::node_runs(std::uint32_t index, int tier) const {
  std::vector<std::string> stems;
  std::vector<std::vector<std::uint32_t>> by_stem;
  for (const NodeId node : groups_[index].nodes) {
    if (tiers_[node.index()] != tier) continue;
    std::string stem = stem_of(cluster_.graph.name(node));
    const auto found = std::ranges::find(stems, stem);
    const auto slot = static_cast<std::size_t>(found - stems.begin());
    if (found == stems.end()) {
      stems.push_back(std::move(stem));
      by_stem.emplace_back();
    }
    by_stem[slot].push_back(node.value());
  }
  std::vector<OutlineRun> runs;
  for (std::vector<std::uint32_t>& nodes : by_stem) runs.push_back(shorten(std::move(nodes)));
  return runs;
}

std::size_t Outline::count_shown(std::uint32_t index) const {
  std::size_t count = 0;
  for (const OutlineRun& run : group_runs(index)) {
    for (const std::uint32_t below : run.shown) count += count_shown(below);
  }
  for (int tier = groups_[index].low; tier <= groups_[index].high; ++tier) {
    for (const OutlineRun& run : node_runs(index, tier)) count += run.shown.size();
  }
  return count;
}

}  // namespace orrery::topology
