// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "orrery/base/check.hpp"

namespace orrery::collectives::plan {

namespace {

std::vector<Rank> ascending(std::size_t count) {
  std::vector<Rank> result(count);
  std::iota(result.begin(), result.end(), Rank{0});
  return result;
}

}  // namespace

Tree::Tree(std::vector<Rank> parent, std::span<const Rank> order) : parent_{std::move(parent)} {
  const std::string defect = tree_defect(parent_);
  ORRERY_CHECK(defect.empty(), "{}", defect);
  ORRERY_CHECK(order.size() == parent_.size(), "{} of {} participants ordered", order.size(), parent_.size());
  first_child_.assign(parent_.size() + 1, 0);
  for (Rank who = 0; who < size(); ++who) {
    if (parent_[who] == who) {
      root_ = who;
    } else {
      ++first_child_[parent_[who] + 1];
    }
  }
  std::partial_sum(first_child_.begin(), first_child_.end(), first_child_.begin());
  children_.resize(parent_.size() - 1);
  std::vector<std::uint32_t> next = first_child_;
  for (const Rank who : order) {
    if (who != root_) children_[next[parent_[who]]++] = who;
  }
  measure();
}

Tree::Tree(const std::vector<Rank>& parent) : Tree{parent, ascending(parent.size())} {}

// Trees may be as deep as they are large (chains), so nothing here recurses.
void Tree::measure() {
  depth_.assign(size(), 0);
  height_.assign(size(), 0);
  weight_.assign(size(), 1);
  place_.assign(size(), 0);
  preorder_.resize(size());
  std::vector<Rank> from_root{root_};  // Parents before children.
  for (std::size_t i = 0; i < from_root.size(); ++i) {
    for (const Rank child : children(from_root[i])) {
      depth_[child] = depth_[from_root[i]] + 1;
      from_root.push_back(child);
    }
  }
  for (std::size_t i = from_root.size(); i-- > 1;) {
    const Rank who = from_root[i];
    weight_[parent_[who]] += weight_[who];
    height_[parent_[who]] = std::max(height_[parent_[who]], height_[who] + 1);
  }
  for (const Rank who : from_root) {
    preorder_[place_[who]] = who;
    std::uint32_t place = place_[who] + 1;
    for (const Rank child : children(who)) {
      place_[child] = place;
      place += weight_[child];
    }
  }
}

std::vector<Rank> Tree::neighbours(Rank who) const {
  const auto below = children(who);
  std::vector<Rank> result{below.begin(), below.end()};
  if (!is_root(who)) result.push_back(parent_[who]);
  return result;
}

std::uint32_t Tree::towards(Rank who, Rank target) const {
  const std::uint32_t place = place_[target];
  if (place < place_[who] || place >= place_[who] + weight_[who]) return child_count(who);
  const auto below = children(who);
  const auto after = std::ranges::upper_bound(below, place, {}, [this](Rank child) { return place_[child]; });
  return static_cast<std::uint32_t>(after - below.begin()) - 1;
}

std::string tree_defect(std::span<const Rank> parent) {
  const std::size_t size = parent.size();
  std::size_t roots = 0;
  for (std::size_t who = 0; who < size; ++who) {
    if (parent[who] >= size) return fmt::format("the parent of participant {} does not exist", who);
    if (parent[who] == who) ++roots;
  }
  if (roots != 1) return fmt::format("a tree has one root, this has {}", roots);
  // Every way up must end at the root; each participant is walked over once.
  enum class Mark : std::uint8_t { kNew, kOnTheWay, kDone };
  std::vector<Mark> marks(size, Mark::kNew);
  std::vector<Rank> way;
  for (Rank start = 0; start < size; ++start) {
    Rank who = start;
    while (marks[who] == Mark::kNew) {
      marks[who] = Mark::kOnTheWay;
      way.push_back(who);
      if (parent[who] != who) who = parent[who];
    }
    if (marks[who] == Mark::kOnTheWay && parent[who] != who) {
      return fmt::format("participant {} is on a cycle", who);
    }
    for (const Rank passed : way) marks[passed] = Mark::kDone;
    way.clear();
  }
  return "";
}

std::vector<Rank> rerooted(std::vector<Rank> parent, Rank root) {
  Rank above = root;
  for (Rank who = root;;) {
    const Rank old_parent = std::exchange(parent[who], above);
    if (old_parent == who) break;
    above = std::exchange(who, old_parent);
  }
  return parent;
}

}  // namespace orrery::collectives::plan
