// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/generate/summary.hpp"

#include <limits>
#include <map>
#include <memory>
#include <utility>

#include "orrery/base/check.hpp"
#include "orrery/base/digest.hpp"
#include "orrery/workload/generate/rank_source.hpp"

namespace orrery::workload::generate {
namespace {

using Key = std::pair<std::string, std::string>;  // Group and operation.
using Totals = std::map<Key, CommunicationTotal>;

Key key_of(const Recipe& recipe, const Place& place, const Op& op) {
  if (op.kind == OpKind::kCollective) {
    return {op.group.substr(0, op.group.find('.')), std::string{collectives::to_text(op.operation)}};
  }
  const bool is_between_stages = place_of(recipe, op.peer).stage != place.stage;
  return {is_between_stages ? "pp" : "cp", op.kind == OpKind::kSend ? "send" : "receive"};
}

std::int64_t members_of(const Recipe& recipe, const Key& key) {
  for (std::size_t i = 0; i < kGroupKinds; ++i) {
    const auto kind = static_cast<GroupKind>(i);
    if (to_text(kind) == key.first && !key.second.starts_with("send") && key.second != "receive") {
      return group_size(recipe, kind);
    }
  }
  return 2;
}

void add_to_digest(Digest& digest, const Op& op) {
  digest.add(op.id);
  digest.add(static_cast<std::uint64_t>(op.kind));
  digest.add(op.name);
  for (const std::uint64_t id : op.data_deps) digest.add(id);
  for (const std::uint64_t id : op.control_deps) digest.add(id);
  digest.add(static_cast<std::uint64_t>(count_ps(op.recorded)));
  digest.add(op.flops);
  digest.add(static_cast<std::uint64_t>(op.tensor.count()));
  digest.add(static_cast<std::uint64_t>(op.size.count()));
  digest.add(op.group);
  digest.add(op.peer);
  digest.add(static_cast<std::uint64_t>(op.tag));
}

/// Sums of absurd settings stop at the largest number instead of starting again.
template <class Integer>
Integer saturating_sum(Integer a, Integer b) {
  constexpr Integer kMost = std::numeric_limits<Integer>::max();
  return b > kMost - a ? kMost : a + b;
}

RankTotal count_rank(const std::shared_ptr<const Recipe>& recipe, const Place& place, Digest& digest) {
  RankTotal total;
  total.stage = place.stage;
  total.first_tp = place.tp;
  total.parameters = plan_stage(*recipe, place, recipe->seq).parameters();
  Totals communication;
  RankSource source{recipe, rank_at(*recipe, place)};
  Op op;
  while (source.next(op)) {
    ++total.operations;
    total.flops = saturating_sum(total.flops, op.flops);
    add_to_digest(digest, op);
    if (op.kind == OpKind::kCompute) {
      total.tensor_bytes = saturating_sum(total.tensor_bytes, op.tensor.count());
    }
    if (op.kind == OpKind::kCompute || op.kind == OpKind::kNone) continue;
    const Key key = key_of(*recipe, place, op);
    CommunicationTotal& sum = communication[key];
    ++sum.calls;
    sum.bytes = saturating_sum(sum.bytes, op.size.count());
  }
  for (auto& [key, sum] : communication) {
    sum.group = key.first;
    sum.operation = key.second;
    sum.members = members_of(*recipe, key);
    total.communication.push_back(sum);
  }
  return total;
}

std::int64_t ranks_of(const Recipe& recipe, const RankTotal& kind) {
  return (kind.last_tp - kind.first_tp + 1) * recipe.replicas();
}

void add_up(const Recipe& recipe, Summary& summary) {
  Totals communication;
  for (const RankTotal& kind : summary.kinds) {
    const std::int64_t ranks = ranks_of(recipe, kind);
    summary.operations += kind.operations * static_cast<std::uint64_t>(ranks);
    summary.flops += static_cast<double>(kind.flops) * static_cast<double>(ranks);
    for (const CommunicationTotal& of_rank : kind.communication) {
      CommunicationTotal& sum = communication[{of_rank.group, of_rank.operation}];
      sum.group = of_rank.group;
      sum.operation = of_rank.operation;
      sum.members = of_rank.members;
      sum.calls += of_rank.calls * static_cast<std::uint64_t>(ranks);
      constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
      const std::int64_t bytes = of_rank.bytes > kMost / ranks ? kMost : of_rank.bytes * ranks;
      sum.bytes = saturating_sum(sum.bytes, bytes);
    }
  }
  for (auto& [key, sum] : communication) summary.communication.push_back(std::move(sum));
  constexpr double kFits = 1.8e19;
  if (summary.flops > kFits) return;
  for (const RankTotal& kind : summary.kinds) {
    summary.exact_flops += kind.flops * static_cast<std::uint64_t>(ranks_of(recipe, kind));
  }
}

}  // namespace

Summary summarize(const Recipe& recipe) {
  const auto shared = std::make_shared<const Recipe>(recipe);
  Summary summary;
  Digest digest;
  digest.add(recipe.settings);
  for (std::int64_t stage = 0; stage < recipe.pp; ++stage) {
    // Only the vocabulary may be shared out unevenly; all else is alike within a stage.
    const bool has_vocab = stage == 0 || stage == recipe.pp - 1;
    const std::int64_t larger = has_vocab ? recipe.model.vocab % recipe.tp : 0;
    const auto add = [&](std::int64_t first, std::int64_t last) {
      RankTotal total = count_rank(shared, {.tp = first, .stage = stage}, digest);
      total.last_tp = last;
      summary.kinds.push_back(std::move(total));
    };
    if (larger > 0) add(0, larger - 1);
    add(larger, recipe.tp - 1);
  }
  add_up(recipe, summary);
  summary.bubble = bubble_fraction(recipe.pp, recipe.micro_batches);
  summary.digest = digest.value();
  return summary;
}

const RankTotal& kind_of(const Recipe& recipe, const Summary& summary, Rank rank) {
  const Place place = place_of(recipe, rank);
  for (const RankTotal& kind : summary.kinds) {
    if (kind.stage == place.stage && kind.first_tp <= place.tp && place.tp <= kind.last_tp) return kind;
  }
  ORRERY_CHECK(false, "rank {} is of no kind", rank);
}

}  // namespace orrery::workload::generate
