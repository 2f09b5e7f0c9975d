// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/explain_move.hpp"

#include <algorithm>
#include <utility>

#include "orrery/base/check.hpp"

namespace orrery::app {
namespace {

using workload::Op;
using workload::OpKind;
using workload::Rank;
using Ids = std::vector<std::uint64_t>;

bool contains(const Ids& ids, std::uint64_t id) { return std::ranges::find(ids, id) != ids.end(); }

void add_new(Ids& ids, const Ids& more) {
  for (const std::uint64_t id : more) {
    if (!contains(ids, id)) ids.push_back(id);
  }
}

/// What it waited for when it was posted: the place of the post in the program.
Ids all_deps(const Op& op) {
  Ids ids = op.data_deps;
  add_new(ids, op.control_deps);
  return ids;
}

}  // namespace

ExplainMoves::ExplainMoves(const ExplainGraph& graph) : graph_{graph}, users_(graph.ranks()) {
  for (Rank rank = 0; rank < graph.ranks(); ++rank) {
    users_[rank].resize(graph.ops(rank).size());
    for (std::uint32_t i = 0; i < graph.ops(rank).size(); ++i) {
      for (const std::uint64_t dep : all_deps(graph.ops(rank)[i])) {
        if (const auto found = graph.find(rank, dep)) users_[rank][*found].push_back(i);
      }
    }
  }
}

bool ExplainMoves::is_split(Rank rank, const Op& op, const std::vector<bool>& is_moved) const {
  if (!op.independent || op.independent->time == Duration{}) return false;
  const std::optional<std::uint32_t> of = graph_.find(rank, op.independent->of);
  ORRERY_CHECK(of.has_value(), "rank {}: node {} is independent of nothing", rank, op.id);
  return is_moved[graph_.site({rank, *of})];
}

/// `deps` with `communication` replaced by what it waited for itself; joins that have it in them are opened.
Ids ExplainMoves::without(Rank rank, const Ids& deps, const Op& communication) const {
  Ids rest;
  Ids left = deps;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::uint64_t dep = left[i];
    if (dep == communication.id) continue;
    const std::optional<std::uint32_t> found = graph_.find(rank, dep);
    ORRERY_CHECK(found.has_value(), "rank {}: no node {}", rank, dep);
    const Op& op = graph_.ops(rank)[*found];
    if (op.kind == OpKind::kNone && builds_on(graph_, rank, op, communication.id)) {
      add_new(left, all_deps(op));
    } else {
      add_new(rest, {dep});
    }
  }
  add_new(rest, all_deps(communication));
  return rest;
}

Op ExplainMoves::first_part(Rank rank, const Op& op) const {
  const std::optional<std::uint32_t> of = graph_.find(rank, op.independent->of);
  Op before = op;
  before.recorded = op.independent->time + op.independent->again;
  before.data_deps = without(rank, all_deps(op), graph_.ops(rank)[*of]);
  before.control_deps.clear();
  before.independent.reset();
  return before;
}

std::vector<Op> ExplainMoves::moved_rank(Rank rank, const std::vector<bool>& is_moved) const {
  const std::vector<Op>& ops = graph_.ops(rank);
  const std::vector<std::uint32_t>& order = graph_.by_id(rank);
  std::vector<std::uint64_t> new_id(ops.size());  // Odd ones: each has a free one below.
  for (std::uint64_t i = 0; i < order.size(); ++i) new_id[order[i]] = 2 * i + 1;
  const auto rename = [&](Ids& ids) {
    for (std::uint64_t& id : ids) {
      const std::optional<std::uint32_t> found = graph_.find(rank, id);
      ORRERY_CHECK(found.has_value(), "rank {}: no node {}", rank, id);
      id = new_id[*found];
    }
  };
  std::vector<Op> made;
  made.reserve(ops.size());
  for (std::size_t i = 0; i < ops.size(); ++i) {
    Op op = ops[i];
    op.id = new_id[i];
    rename(op.data_deps);
    rename(op.control_deps);
    if (is_split(rank, ops[i], is_moved)) {
      Op before = first_part(rank, ops[i]);
      before.id = new_id[i] - 1;
      rename(before.data_deps);
      made.push_back(std::move(before));
      op.data_deps.push_back(new_id[i] - 1);
      op.recorded -= op.independent->time;
      if (op.recorded == Duration{}) op.kind = OpKind::kNone;  // No time recorded would mean: not known.
    }
    op.independent.reset();
    made.push_back(std::move(op));
  }
  return made;
}

std::shared_ptr<const RankOps> ExplainMoves::moved(const std::vector<bool>& is_moved) const {
  auto made = std::make_shared<RankOps>();
  for (Rank rank = 0; rank < graph_.ranks(); ++rank) made->push_back(moved_rank(rank, is_moved));
  return made;
}

Ids ExplainMoves::posted_after(OpPlace communication) const {
  const std::uint32_t site = graph_.site(communication);
  Ids rest;
  Ids left = all_deps(graph_.op(communication));
  for (std::size_t i = 0; i < left.size(); ++i) {
    const std::optional<std::uint32_t> found = graph_.find(communication.rank, left[i]);
    if (found && graph_.site({communication.rank, *found}) == site) {
      add_new(left, all_deps(graph_.ops(communication.rank)[*found]));
    } else {
      rest.push_back(left[i]);
    }
  }
  return rest;
}

void ExplainMoves::free_rank(Rank rank, std::uint32_t site, std::vector<Op>& ops) const {
  std::vector<std::uint32_t> seen_by(ops.size(), ~std::uint32_t{0});
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    if (graph_.site({rank, i}) != site) continue;
    const std::uint64_t id = ops[i].id;
    std::vector<std::uint32_t> left = users_[rank][i];
    while (!left.empty()) {
      const std::uint32_t at = left.back();
      left.pop_back();
      if (std::exchange(seen_by[at], i) == i) continue;
      Op& op = ops[at];
      if (is_communication(op)) {
        add_new(op.data_deps, {id});
        continue;
      }
      const bool was_direct = std::erase(op.data_deps, id) + std::erase(op.control_deps, id) > 0;
      if (was_direct) add_new(op.data_deps, posted_after({rank, i}));
      left.insert(left.end(), users_[rank][at].begin(), users_[rank][at].end());
    }
  }
}

std::shared_ptr<const RankOps> ExplainMoves::freed(std::uint32_t site) const {
  auto made = std::make_shared<RankOps>(*graph_.all());
  for (Rank rank = 0; rank < graph_.ranks(); ++rank) free_rank(rank, site, (*made)[rank]);
  return made;
}

}  // namespace orrery::app
