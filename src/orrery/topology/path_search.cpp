// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/path_search.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "orrery/base/check.hpp"

namespace orrery::topology::detail {
namespace {

constexpr std::int64_t kUnknown = std::numeric_limits<std::int64_t>::max();

/// Absurd latencies must not wrap around, nor be taken for "unknown".
std::int64_t saturating_sum(std::int64_t a, std::int64_t b) {
  return a > kUnknown - 1 - b ? kUnknown - 1 : a + b;
}

/// Finaliser of SplitMix64 (Steele et al., OOPSLA'14): every input bit moves every output bit.
std::uint64_t mixed(std::uint64_t word) {
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ULL;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBULL;
  return word ^ (word >> 31);
}

/// Keeps the way on with the lowest (hash, link).
class Choice {
 public:
  explicit Choice(std::uint64_t key) : key_{key} {}
  void offer(LinkId link, std::uint32_t next) {
    const std::pair weight{mixed(key_ + link.value() * 0x9E3779B97F4A7C15ULL), link};
    if (link_.is_valid() && weight > best_) return;
    best_ = weight;
    link_ = link;
    next_ = next;
  }
  [[nodiscard]] LinkId link() const { return link_; }
  [[nodiscard]] std::uint32_t next() const { return next_; }

 private:
  std::uint64_t key_;
  std::pair<std::uint64_t, LinkId> best_{};
  LinkId link_;
  std::uint32_t next_ = 0;
};

}  // namespace

PathSearch::PathSearch(const Graph& graph)
    : graph_{graph}, reverse_(graph.link_count()), marks_(graph.node_count()) {
  for (const Graph::Edge& edge : graph.edges()) {
    reverse_[edge.forward.index()] = edge.backward;
    reverse_[edge.backward.index()] = edge.forward;
  }
  add_ways();
}

bool PathSearch::is_dead_end(NodeId node) const {
  const auto hops = graph_.hops(node);
  return hops.empty() || hops.front().target == hops.back().target;  // Sorted by target.
}

void PathSearch::add_ways() {
  std::vector<char> dead_end(graph_.node_count());
  for (std::size_t node = 0; node < dead_end.size(); ++node) {
    dead_end[node] = is_dead_end(NodeId{node}) ? 1 : 0;
  }
  first_way_.reserve(dead_end.size() + 1);
  for (std::size_t node = 0; node < dead_end.size(); ++node) {
    first_way_.push_back(ways_.size());
    for (const Hop& hop : graph_.hops(NodeId{node})) {
      // Ways out of a dead end stay, for searches that start there.
      if (dead_end[hop.target.index()] != 0 && dead_end[node] == 0) continue;
      const LinkSpec& back = graph_.link(reverse(hop.link));
      ways_.push_back(
          {hop.target.value(), hop.link, graph_.link(hop.link).latency.count(), back.latency.count()});
    }
  }
  first_way_.push_back(ways_.size());
}

bool PathSearch::find(NodeId source, NodeId target, std::uint64_t key, std::vector<LinkId>& links) {
  if (source == target) return true;
  begin(source, target);
  // No way leads into a dead end, so a search that starts in one must leave it before the sides can meet.
  bool met = is_dead_end(source) && expand(kForward);
  met = met || (is_dead_end(target) && expand(kBackward));
  while (!met) {
    const bool forward_is_cheaper = halves_[kForward].ways <= halves_[kBackward].ways;
    const Side side = forward_is_cheaper ? kForward : kBackward;
    if (halves_[side].frontier.empty()) return false;
    met = expand(side);
  }
  sweep_costs(target);
  walk(source, key, links);
  return true;
}

void PathSearch::begin(NodeId source, NodeId target) {
  if (++epoch_ >= std::numeric_limits<std::uint32_t>::max() / 2) {
    std::ranges::fill(marks_, Mark{});
    epoch_ = 1;
  }
  const auto start = [&](Side side, std::uint32_t node) {
    Half& half = halves_[side];
    half.frontier.assign(1, node);
    half.edges.clear();
    half.level_end.clear();
    half.ways = way_count(node);
    marks_[node] = {epoch_ * 2 + side, 0, kUnknown};
  };
  start(kForward, source.value());
  start(kBackward, target.value());
}

bool PathSearch::expand(Side side) {
  Half& half = halves_[side];
  const std::uint32_t own = epoch_ * 2 + side;
  const std::uint32_t other = own ^ 1U;
  const auto level = static_cast<std::uint32_t>(half.level_end.size() + 1);
  next_frontier_.clear();
  half.ways = 0;
  bool met = false;
  for (const std::uint32_t node : half.frontier) {
    for (std::size_t i = first_way_[node]; i < first_way_[node + 1]; ++i) {
      const Way& way = ways_[i];
      const Mark mark = marks_[way.target];
      if (mark.stamp == own) {
        if (mark.level != level) continue;
      } else if (mark.stamp == other) {
        met = true;  // Its mark stays the other side's; it is on that side's outermost level.
      } else {
        marks_[way.target] = {own, level, kUnknown};
        next_frontier_.push_back(way.target);
        half.ways += way_count(way.target);
      }
      if (side == kForward) {
        half.edges.push_back({node, way.target, way.link, way.latency});
      } else {
        half.edges.push_back({node, way.target, reverse(way.link), way.back_latency});
      }
    }
  }
  half.level_end.push_back(half.edges.size());
  half.frontier.swap(next_frontier_);
  return met;
}

void PathSearch::sweep_costs(NodeId target) {
  marks_[target.index()].cost = 0;
  for (const LevelEdge& edge : halves_[kBackward].edges) {  // Inner levels come first.
    std::int64_t& cost = marks_[edge.outer].cost;
    cost = std::min(cost, saturating_sum(marks_[edge.inner].cost, edge.latency));
  }
  const std::vector<LevelEdge>& edges = halves_[kForward].edges;
  for (std::size_t i = edges.size(); i-- > 0;) {
    const std::int64_t onward = marks_[edges[i].outer].cost;
    if (onward == kUnknown) continue;  // Leads away from the target.
    std::int64_t& cost = marks_[edges[i].inner].cost;
    cost = std::min(cost, saturating_sum(onward, edges[i].latency));
  }
}

void PathSearch::walk(NodeId source, std::uint64_t key, std::vector<LinkId>& links) const {
  std::uint32_t node = source.value();
  const auto is_best = [&](std::uint32_t from, std::uint32_t to, std::int64_t latency) {
    return marks_[to].cost != kUnknown && marks_[from].cost == saturating_sum(marks_[to].cost, latency);
  };
  const Half& forward = halves_[kForward];
  std::size_t first = 0;
  for (const std::size_t end : forward.level_end) {
    Choice choice{key};
    for (std::size_t i = first; i < end; ++i) {
      const LevelEdge& edge = forward.edges[i];
      if (edge.inner == node && is_best(node, edge.outer, edge.latency)) choice.offer(edge.link, edge.outer);
    }
    ORRERY_CHECK(choice.link().is_valid(), "the walk from {} lost its way", graph_.name(source));
    links.push_back(choice.link());
    node = choice.next();
    first = end;
  }
  const Half& backward = halves_[kBackward];
  for (std::size_t level = backward.level_end.size(); level-- > 0;) {
    Choice choice{key};
    for (std::size_t i = level == 0 ? 0 : backward.level_end[level - 1]; i < backward.level_end[level]; ++i) {
      const LevelEdge& edge = backward.edges[i];
      if (edge.outer == node && is_best(node, edge.inner, edge.latency)) choice.offer(edge.link, edge.inner);
    }
    ORRERY_CHECK(choice.link().is_valid(), "the walk from {} lost its way", graph_.name(source));
    links.push_back(choice.link());
    node = choice.next();
  }
}

}  // namespace orrery::topology::detail
