// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/cluster_file_names.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/check.hpp"
#include "orrery/base/text.hpp"
#include "orrery/topology/generators/draft.hpp"

namespace orrery::topology {

std::int64_t NameTree::Bindings::value(char variable) const {
  for (std::size_t i = 0; i < kMax; ++i) {
    if (variables_[i] == variable) return values_[i];
  }
  return -1;
}

bool NameTree::Bindings::bind(char variable, std::int64_t value) {
  for (std::size_t i = 0; i < kMax; ++i) {
    if (variables_[i] != '\0') continue;
    variables_[i] = variable;
    values_[i] = static_cast<std::int32_t>(value);
    return true;
  }
  return false;
}

const NameTree::Child* NameTree::find_child(Place parent, std::string_view name) const {
  const auto found = std::ranges::find(places_[parent].children, name, &Child::name);
  return found == places_[parent].children.end() ? nullptr : &*found;
}

std::vector<std::string> NameTree::child_names(Place parent) const {
  std::vector<std::string> names;
  for (const Child& child : places_[parent].children) names.push_back(child.name);
  return names;
}

NameTree::Place NameTree::add(Place parent, std::string_view name, std::int64_t index) {
  ORRERY_CHECK(index >= 0, "negative index of {}", name);
  const auto slot = static_cast<std::size_t>(index);
  auto& children = places_[parent].children;
  auto found = std::ranges::find(children, name, &Child::name);
  if (found == children.end()) found = children.insert(children.end(), Child{std::string{name}, {}});
  if (found->by_index.size() <= slot) found->by_index.resize(slot + 1, kRoot);
  if (found->by_index[slot] != kRoot) return found->by_index[slot];
  const auto place = static_cast<Place>(places_.size());
  found->by_index[slot] = place;
  places_.emplace_back();
  return place;
}

void NameTree::add_path(std::string_view path, NodeId node) {
  Place place = kRoot;
  for (const std::string_view part : split(path, '.')) {
    const std::size_t bracket = part.find('[');
    const auto index = parse_integer(part.substr(bracket + 1, part.size() - bracket - 2));
    ORRERY_CHECK(bracket != std::string_view::npos && index, "'{}' is not a path of name[index]", path);
    place = add(place, part.substr(0, bracket), *index);
  }
  set_node(place, node);
}

void NameTree::extend(const Match& match, const Segment& segment, const PatternText& text, bool defines,
                      std::vector<Match>& matches) const {
  const Child* child = find_child(match.place, segment.name);
  if (child == nullptr) {
    const std::vector<std::string> names = child_names(match.place);
    text.fail(names.empty()
                  ? fmt::format("there is no '{}' here", segment.name)
                  : fmt::format("there is no '{}'; expected one of: {}", segment.name, join(names, ", ")),
              nearest_name(segment.name, names));
  }
  const auto count = static_cast<std::int64_t>(child->by_index.size());
  const auto take = [&](std::int64_t index, char variable) {
    if (index < 0 || index >= count || child->by_index[static_cast<std::size_t>(index)] == kRoot) {
      text.fail(
          fmt::format("'{}[{}]' does not exist; there are {}, counted from 0", segment.name, index, count));
    }
    Match next{child->by_index[static_cast<std::size_t>(index)], match.bindings};
    if (variable != '\0' && !next.bindings.bind(variable, index)) {
      text.fail(fmt::format("at most {} variables in one pattern", Bindings::kMax));
    }
    if (matches.size() >= static_cast<std::size_t>(kMaxNodes)) {
      text.fail(fmt::format("this names more than {} nodes", kMaxNodes));
    }
    matches.push_back(next);
  };
  if (const char variable = segment.index.variable; variable != '\0') {
    const std::int64_t bound = match.bindings.value(variable);
    if (bound >= 0) return take(segment.index.evaluate(bound), '\0');
    if (!defines) text.fail(fmt::format("variable '{}' does not stand on the left side", variable));
    if (!segment.index.steps.empty()) {
      text.fail("arithmetic is for the right side; here the variable must stand alone");
    }
    for (std::int64_t index = 0; index < count; ++index) take(index, variable);
    return;
  }
  for (const IndexRange& range : segment.index.ranges) {
    // At least one: a slice that begins past the end is a mistake that take() names.
    std::int64_t index = range.begin;
    do take(index, '\0');
    while (++index < range.end.value_or(count));
  }
}

std::vector<NameTree::Match> NameTree::select(Place root, const NodePattern& pattern, const PatternText& text,
                                              const Bindings* bound) const {
  std::vector<Match> matches{{root, bound == nullptr ? Bindings{} : *bound}};
  for (const Segment& segment : pattern.segments) {
    std::vector<Match> next;
    for (const Match& match : matches) extend(match, segment, text, bound == nullptr, next);
    matches = std::move(next);
    charge(matches.size(), text);
  }
  return matches;
}

NodeId NameTree::node_at(Place place, const PatternText& text) const {
  const NodeId node = places_[place].node;
  if (!node.is_valid()) {
    text.fail(fmt::format("this names a group of nodes; name one of its parts: {}",
                          join(child_names(place), ", ")));
  }
  return node;
}

std::vector<NodeId> NameTree::nodes_below(Place place, const PatternText& text) const {
  std::vector<NodeId> nodes;
  std::vector<Place> open{place};
  while (!open.empty()) {
    const Vertex& vertex = places_[open.back()];
    open.pop_back();
    if (vertex.node.is_valid()) nodes.push_back(vertex.node);
    for (auto child = vertex.children.rbegin(); child != vertex.children.rend(); ++child) {
      for (auto below = child->by_index.rbegin(); below != child->by_index.rend(); ++below) {
        if (*below != kRoot) open.push_back(*below);
      }
    }
  }
  charge(nodes.size(), text);
  return nodes;
}

void NameTree::charge(std::size_t places, const PatternText& text) const {
  constexpr std::size_t kMostPlaces = 100'000'000;
  charged_ += places;
  if (charged_ > kMostPlaces) {
    text.fail(fmt::format("the patterns up to here name more than {} nodes, counted each time", kMostPlaces));
  }
}

}  // namespace orrery::topology
