// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/trace_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <utility>

#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"

namespace orrery::app {
namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kNowhere = std::numeric_limits<std::uint64_t>::max();
constexpr std::size_t kNameShown = 80;

bool communicates(const workload::Op& op) {
  return op.kind == workload::OpKind::kCollective || op.kind == workload::OpKind::kSend ||
         op.kind == workload::OpKind::kReceive;
}

}  // namespace

void TraceGraph::add(const workload::Op& op) {
  if (ids_.size() >= kNone) throw InputError{fmt::format("rank {} has more than {} nodes", rank_, kNone)};
  ids_.push_back(op.id);
  const auto [known, is_new] =
      known_names_.try_emplace(op.name.substr(0, kNameShown), static_cast<std::uint32_t>(names_.size()));
  if (is_new) names_.push_back(known->first);
  name_of_.push_back(known->second);
  deps_.insert(deps_.end(), op.data_deps.begin(), op.data_deps.end());
  deps_.insert(deps_.end(), op.control_deps.begin(), op.control_deps.end());
  first_dep_.push_back(deps_.size());
  communication_of_.push_back(kNone);
  if (!communicates(op)) return;
  communication_of_.back() = static_cast<Index>(ops_.size());
  ops_.push_back(op);
  ops_.back().data_deps = {};
  ops_.back().control_deps = {};
  ops_.back().name = known->first;
}

void TraceGraph::sort_by_id(TraceProblems& problems) {
  by_id_.resize(ids_.size());
  std::iota(by_id_.begin(), by_id_.end(), Index{0});
  std::ranges::sort(by_id_, {}, [this](Index index) { return std::pair{ids_[index], index}; });
  for (std::size_t i = 1; i < by_id_.size(); ++i) {
    if (ids_[by_id_[i]] != ids_[by_id_[i - 1]]) continue;
    problems.add({ProblemKind::kDuplicateId,
                  fmt::format("rank {}: id {} is given to '{}' and to '{}'", rank_, ids_[by_id_[i]],
                              name(by_id_[i - 1]), name(by_id_[i])),
                  {place(by_id_[i - 1]), place(by_id_[i])}});
  }
}

bool TraceGraph::find(std::uint64_t id, Index& index) const {
  const auto found = std::ranges::lower_bound(by_id_, id, {}, [this](Index at) { return ids_[at]; });
  if (found == by_id_.end() || ids_[*found] != id) return false;
  index = *found;
  return true;
}

void TraceGraph::connect(TraceProblems& problems) {
  for (Index node = 0; node < ids_.size(); ++node) {
    for (std::size_t i = first_dep_[node]; i < first_dep_[node + 1]; ++i) {
      Index index = 0;
      if (find(deps_[i], index)) {
        deps_[i] = index;
        continue;
      }
      problems.add({ProblemKind::kMissingDependency,
                    fmt::format("rank {}: node {} '{}' depends on node {}, which does not exist", rank_,
                                ids_[node], name(node), deps_[i]),
                    {place(node)}});
      deps_[i] = kNowhere;
    }
  }
}

void TraceGraph::report_cycles(const std::vector<std::uint32_t>& missing, TraceProblems& problems) const {
  // Every node left has a dependency that is left; walking along the first such one must come back somewhere.
  std::vector<std::uint32_t> walk_of(ids_.size(), 0);
  std::uint32_t walk = 0;
  for (const Index start : by_id_) {
    if (missing[start] == 0 || walk_of[start] != 0) continue;
    ++walk;
    Index at = start;
    std::vector<Index> path;
    while (walk_of[at] == 0) {
      walk_of[at] = walk;
      path.push_back(at);
      const auto first = deps_.begin() + static_cast<std::ptrdiff_t>(first_dep_[at]);
      const auto last = deps_.begin() + static_cast<std::ptrdiff_t>(first_dep_[at + 1]);
      const auto next = std::find_if(first, last, [&](std::uint64_t dep) {
        return dep != kNowhere && missing[static_cast<Index>(dep)] > 0;
      });
      ORRERY_CHECK(next != last, "node {} waits for nothing", ids_[at]);
      at = static_cast<Index>(*next);
    }
    if (walk_of[at] != walk) continue;  // Runs into a cycle that is known.
    TraceProblem problem{.kind = ProblemKind::kCycle, .message = fmt::format("rank {}: ", rank_)};
    constexpr std::size_t kShown = 20;
    const auto begin = std::ranges::find(path, at);
    for (auto node = begin; node != path.end(); ++node) {
      const auto shown = static_cast<std::size_t>(node - begin);
      if (shown < kShown) {
        problem.message += fmt::format("node {} '{}' waits for ", ids_[*node], name(*node));
      }
      if (shown == kShown) problem.message += fmt::format("... {} more ... ", path.end() - node);
      problem.nodes.push_back(place(*node));
    }
    problem.message += fmt::format("node {}: a cycle of {}", ids_[at], problem.nodes.size());
    problems.add(std::move(problem));
  }
}

std::vector<TraceGraph::Index> TraceGraph::order(TraceProblems& problems) {
  std::vector<std::uint32_t> missing(ids_.size(), 0);
  std::vector<std::size_t> first_user(ids_.size() + 1, 0);
  for (const std::uint64_t dep : deps_) {
    if (dep != kNowhere) ++first_user[dep + 1];
  }
  std::partial_sum(first_user.begin(), first_user.end(), first_user.begin());
  std::vector<Index> users(first_user.back());
  std::vector<std::size_t> filled = first_user;
  for (Index node = 0; node < ids_.size(); ++node) {
    for (std::size_t i = first_dep_[node]; i < first_dep_[node + 1]; ++i) {
      if (deps_[i] == kNowhere) continue;
      users[filled[deps_[i]]++] = node;
      ++missing[node];
    }
  }
  const auto later = [this](Index a, Index b) { return std::pair{ids_[a], a} > std::pair{ids_[b], b}; };
  std::priority_queue<Index, std::vector<Index>, decltype(later)> ready{later};
  for (Index node = 0; node < ids_.size(); ++node) {
    if (missing[node] == 0) ready.push(node);
  }
  std::vector<Index> order;
  while (!ready.empty()) {
    const Index node = ready.top();
    ready.pop();
    order.push_back(node);
    for (std::size_t i = first_user[node]; i < first_user[node + 1]; ++i) {
      if (--missing[users[i]] == 0) ready.push(users[i]);
    }
  }
  if (order.size() == ids_.size()) return order;
  report_cycles(missing, problems);
  for (const Index node : by_id_) {
    if (missing[node] > 0) order.push_back(node);
  }
  return order;
}

std::vector<workload::Op> TraceGraph::communication(TraceProblems& problems) {
  sort_by_id(problems);
  connect(problems);
  std::vector<workload::Op> ops;
  for (const Index node : order(problems)) {
    if (communication_of_[node] != kNone) ops.push_back(std::move(ops_[communication_of_[node]]));
  }
  return ops;
}

}  // namespace orrery::app
