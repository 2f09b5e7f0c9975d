// SPDX-License-Identifier: Apache-2.0
#include "orrery/astra/trace_build.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/error.hpp"

namespace orrery::astra {

void TraceBuilder::add(const Step& step, const workload::Op& op) {
  if (!trace_.steps.empty() && trace_.steps.back().id >= step.id) is_sorted_ = false;
  trace_.steps.push_back(step);
  for (const std::uint64_t parent : op.data_deps) edges_.emplace_back(parent, step.id);
  for (const std::uint64_t parent : op.control_deps) edges_.emplace_back(parent, step.id);
}

std::shared_ptr<Trace> TraceBuilder::finish() {
  sort();
  link();
  refuse_cycles();
  return std::make_shared<Trace>(std::move(trace_));
}

void TraceBuilder::sort() {
  if (is_sorted_) return;
  std::ranges::sort(trace_.steps, {}, &Step::id);
  const auto twice = std::ranges::adjacent_find(trace_.steps, {}, &Step::id);
  if (twice != trace_.steps.end()) {
    throw InputError{fmt::format("{}: two nodes have the id {}", name_, twice->id)};
  }
}

std::uint32_t TraceBuilder::index_of(std::uint64_t id, std::uint64_t child) const {
  const auto found = std::ranges::lower_bound(trace_.steps, id, {}, &Step::id);
  if (found == trace_.steps.end() || found->id != id) {
    throw InputError{fmt::format("{}: node {} depends on node {}, which does not exist", name_, child, id)};
  }
  return static_cast<std::uint32_t>(found - trace_.steps.begin());
}

void TraceBuilder::link() {
  std::vector<std::pair<std::uint32_t, std::uint32_t>> links;
  links.reserve(edges_.size());
  for (const auto& [parent, child] : edges_) {
    links.emplace_back(index_of(parent, child), index_of(child, child));
  }
  edges_ = {};
  std::ranges::sort(links);
  const auto repeated = std::ranges::unique(links);  // A data and a control dependency count once.
  links.erase(repeated.begin(), repeated.end());
  trace_.parents.assign(trace_.steps.size(), 0);
  trace_.first_child.assign(trace_.steps.size() + 1, 0);
  for (const auto& [parent, child] : links) {
    ++trace_.parents[child];
    ++trace_.first_child[parent + 1];
    trace_.children.push_back(child);
  }
  for (std::size_t i = 1; i < trace_.first_child.size(); ++i) {
    trace_.first_child[i] += trace_.first_child[i - 1];
  }
}

void TraceBuilder::refuse_cycles() const {
  std::vector<std::uint32_t> waiting_for = trace_.parents;
  std::vector<std::uint32_t> ready;
  for (std::uint32_t i = 0; i < waiting_for.size(); ++i) {
    if (waiting_for[i] == 0) ready.push_back(i);
  }
  std::size_t done = 0;
  while (!ready.empty()) {
    const std::uint32_t step = ready.back();
    ready.pop_back();
    ++done;
    for (std::uint32_t i = trace_.first_child[step]; i < trace_.first_child[step + 1]; ++i) {
      if (--waiting_for[trace_.children[i]] == 0) ready.push_back(trace_.children[i]);
    }
  }
  if (done != trace_.steps.size()) fail_cycle(waiting_for);
}

/// Every step that is left has a parent that is left: walking from parent to parent must come round.
void TraceBuilder::fail_cycle(const std::vector<std::uint32_t>& waiting_for) const {
  const auto count = static_cast<std::uint32_t>(waiting_for.size());
  std::vector<std::uint32_t> parent_of(count, count);
  for (std::uint32_t parent = 0; parent < count; ++parent) {
    if (waiting_for[parent] == 0) continue;
    for (std::uint32_t i = trace_.first_child[parent]; i < trace_.first_child[parent + 1]; ++i) {
      if (parent_of[trace_.children[i]] == count) parent_of[trace_.children[i]] = parent;
    }
  }
  std::vector<std::uint32_t> seen(count, 0);
  auto at = static_cast<std::uint32_t>(std::ranges::find_if(waiting_for, [](auto n) { return n > 0; }) -
                                       waiting_for.begin());
  while (seen[at]++ == 0) at = parent_of[at];
  std::string text = fmt::format("{}", trace_.steps[at].id);
  for (std::uint32_t next = parent_of[at]; next != at; next = parent_of[next]) {
    text += fmt::format(" after {}", trace_.steps[next].id);
  }
  text += fmt::format(" after {}", trace_.steps[at].id);
  throw SimulationError{fmt::format("{}: nodes wait on each other: {}", name_, text)};
}

}  // namespace orrery::astra
