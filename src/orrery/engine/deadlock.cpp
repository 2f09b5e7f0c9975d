// SPDX-License-Identifier: Apache-2.0
#include "orrery/engine/deadlock.hpp"

#include <map>

#include "orrery/base/text.hpp"

namespace orrery::engine {
namespace {

/// A cycle of the wait-for graph, as indices; empty when there is none. Iterative depth-first search.
std::vector<std::size_t> find_cycle(const std::vector<Blocked>& blocked) {
  std::map<std::string, std::size_t> index;
  for (std::size_t i = 0; i < blocked.size(); ++i) index.emplace(blocked[i].who, i);
  enum class Colour : unsigned char { kNew, kOpen, kDone };
  std::vector<Colour> colour(blocked.size(), Colour::kNew);
  struct Frame {
    std::size_t node;
    std::size_t next;
  };
  for (std::size_t start = 0; start < blocked.size(); ++start) {
    if (colour[start] != Colour::kNew) continue;
    std::vector<Frame> stack{{start, 0}};
    colour[start] = Colour::kOpen;
    while (!stack.empty()) {
      Frame& frame = stack.back();
      const std::vector<std::string>& edges = blocked[frame.node].waits_on;
      if (frame.next == edges.size()) {
        colour[frame.node] = Colour::kDone;
        stack.pop_back();
        continue;
      }
      const auto target = index.find(edges[frame.next++]);
      if (target == index.end() || colour[target->second] == Colour::kDone) continue;
      if (colour[target->second] == Colour::kOpen) {
        std::vector<std::size_t> cycle;
        bool inside = false;
        for (const Frame& open : stack) {
          inside = inside || open.node == target->second;
          if (inside) cycle.push_back(open.node);
        }
        return cycle;
      }
      colour[target->second] = Colour::kOpen;
      stack.push_back({target->second, 0});
    }
  }
  return {};
}

}  // namespace

std::string describe_deadlock(Time now, const std::vector<Blocked>& blocked) {
  constexpr std::size_t kShown = 16;
  std::string text = fmt::format("deadlock at {}: nothing left to happen and {} still waiting\n",
                                 to_text(now.time_since_epoch()), blocked.size());
  for (std::size_t i = 0; i < blocked.size() && i < kShown; ++i) {
    text += fmt::format("  {} waits: {}\n", blocked[i].who, blocked[i].what);
  }
  if (blocked.size() > kShown) text += fmt::format("  ... and {} more\n", blocked.size() - kShown);
  const std::vector<std::size_t> cycle = find_cycle(blocked);
  if (!cycle.empty()) {
    text += "  cycle: ";
    for (const std::size_t node : cycle) text += blocked[node].who + " -> ";
    text += blocked[cycle.front()].who;
  } else {
    text.pop_back();
  }
  return text;
}

}  // namespace orrery::engine
