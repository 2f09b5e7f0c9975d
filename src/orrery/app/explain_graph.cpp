// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/explain_graph.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <numeric>
#include <unordered_map>

#include "orrery/base/error.hpp"

namespace orrery::app {
namespace {

using workload::Op;
using workload::OpKind;
using workload::Rank;

std::string site_name(const Op& op) {
  if (!op.name.empty()) return op.name;
  if (op.kind == OpKind::kCollective) return std::string{collectives::to_text(op.operation)};
  return op.kind == OpKind::kSend ? "send" : "receive";
}

[[noreturn]] void refuse(Rank rank, const Op& op, const char* field, std::uint64_t value,
                         const char* expected) {
  throw InputError{{.source = fmt::format("rank {}: node {} '{}'", rank, op.id, op.name),
                    .position = {},
                    .field = field,
                    .value = fmt::format("{}", value),
                    .expected = expected,
                    .nearest = {}}};
}

}  // namespace

bool is_communication(const Op& op) {
  return op.kind == OpKind::kCollective || op.kind == OpKind::kSend || op.kind == OpKind::kReceive;
}

ExplainGraph::ExplainGraph(const workload::Workload& workload) {
  auto ops = std::make_shared<RankOps>(workload.ranks);
  read(workload, *ops);
  ops_ = std::move(ops);
  by_id_.resize(ranks());
  for (Rank rank = 0; rank < ranks(); ++rank) sort_ids(rank);
  name_sites();
  for (Rank rank = 0; has_dataflow_ && rank < ranks(); ++rank) check_independent(rank);
}

void ExplainGraph::read(const workload::Workload& workload, RankOps& ops) {
  for (Rank rank = 0; rank < workload.ranks; ++rank) {
    const std::unique_ptr<workload::OpSource> source = workload.open(rank);
    Op op;
    while (source->next(op)) {
      if (ops[rank].size() >= std::numeric_limits<std::uint32_t>::max()) {
        throw InputError{fmt::format("rank {} has more operations than can be explained", rank)};
      }
      has_dataflow_ = has_dataflow_ || op.independent.has_value();
      ops[rank].push_back(op);
      op.clear();
    }
    ops[rank].shrink_to_fit();
  }
}

void ExplainGraph::sort_ids(Rank rank) {
  const std::vector<Op>& mine = ops(rank);
  std::vector<std::uint32_t>& order = by_id_[rank];
  order.resize(mine.size());
  std::iota(order.begin(), order.end(), 0U);
  std::ranges::sort(order, {}, [&](std::uint32_t i) { return std::pair{mine[i].id, i}; });
  for (std::size_t i = 1; i < order.size(); ++i) {
    if (mine[order[i]].id != mine[order[i - 1]].id) continue;
    refuse(rank, mine[order[i]], "id", mine[order[i]].id, "its id stands twice in the trace");
  }
}

std::optional<std::uint32_t> ExplainGraph::find(Rank rank, std::uint64_t id) const {
  const std::vector<Op>& mine = ops(rank);
  const std::vector<std::uint32_t>& order = by_id_[rank];
  const auto found = std::ranges::lower_bound(order, id, {}, [&](std::uint32_t i) { return mine[i].id; });
  if (found == order.end() || mine[*found].id != id) return std::nullopt;
  return *found;
}

void ExplainGraph::name_sites() {
  std::unordered_map<std::string, std::uint32_t> known;  // Looked up only.
  site_of_.resize(ranks());
  for (Rank rank = 0; rank < ranks(); ++rank) {
    site_of_[rank].assign(ops(rank).size(), kNoSite);
    for (std::size_t i = 0; i < ops(rank).size(); ++i) {
      if (!is_communication(ops(rank)[i])) continue;
      const auto [found, is_new] =
          known.emplace(site_name(ops(rank)[i]), static_cast<std::uint32_t>(sites_.size()));
      if (is_new) sites_.push_back(found->first);
      site_of_[rank][i] = found->second;
    }
  }
}

void ExplainGraph::check_independent(Rank rank) const {
  for (const Op& op : ops(rank)) {
    if (!op.independent) continue;
    const std::optional<std::uint32_t> of = find(rank, op.independent->of);
    if (!of || !is_communication(ops(rank)[*of])) {
      refuse(rank, op, "independent_of", op.independent->of,
             "expected the id of a communication of the rank");
    }
    if (!builds_on(*this, rank, op, op.independent->of)) {
      refuse(rank, op, "independent_of", op.independent->of,
             "the node does not depend on it; expected the communication that was waited for");
    }
  }
}

bool builds_on(const ExplainGraph& graph, Rank rank, const Op& op, std::uint64_t id) {
  std::vector<const Op*> left{&op};
  std::vector<std::uint64_t> seen;
  while (!left.empty()) {
    const Op& at = *left.back();
    left.pop_back();
    for (const auto* list : {&at.data_deps, &at.control_deps}) {
      if (std::ranges::find(*list, id) != list->end()) return true;
      for (const std::uint64_t dep : *list) {
        const std::optional<std::uint32_t> found = graph.find(rank, dep);
        if (!found || graph.ops(rank)[*found].kind != OpKind::kNone) continue;
        if (std::ranges::find(seen, dep) != seen.end()) continue;  // Cycles are the executor's to report.
        seen.push_back(dep);
        left.push_back(&graph.ops(rank)[*found]);
      }
    }
  }
  return false;
}

}  // namespace orrery::app
