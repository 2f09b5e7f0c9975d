// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/generate/layout.hpp"

#include <fmt/format.h>

#include <array>

#include "orrery/base/check.hpp"

namespace orrery::workload::generate {

Place place_of(const Recipe& recipe, Rank rank) {
  std::int64_t rest = rank;
  Place place;
  place.tp = rest % recipe.tp;
  rest /= recipe.tp;
  place.cp = rest % recipe.cp;
  rest /= recipe.cp;
  place.dp = rest % recipe.dp;
  place.stage = rest / recipe.dp;
  return place;
}

Rank rank_at(const Recipe& recipe, const Place& place) {
  return static_cast<Rank>(((place.stage * recipe.dp + place.dp) * recipe.cp + place.cp) * recipe.tp +
                           place.tp);
}

std::string_view to_text(GroupKind kind) {
  constexpr std::array<std::string_view, kGroupKinds> kNames{"tp", "cp", "dp", "ep", "edp", "emb"};
  return kNames.at(static_cast<std::size_t>(kind));
}

std::int64_t group_size(const Recipe& recipe, GroupKind kind) {
  switch (kind) {
    case GroupKind::kTensor:
      return recipe.tp;
    case GroupKind::kContext:
      return recipe.cp;
    case GroupKind::kReplica:
      return recipe.replicas();
    case GroupKind::kExpert:
      return recipe.ep;
    case GroupKind::kExpertData:
      return recipe.expert_replicas();
    case GroupKind::kEmbedding:
      return recipe.pp > 1 ? 2 : 1;
  }
  ORRERY_CHECK(false, "no such kind of group");
}

std::vector<Rank> members(const Recipe& recipe, GroupKind kind, const Place& place) {
  std::vector<Rank> ranks;
  Place at = place;
  const auto over_contexts = [&] {
    for (at.cp = 0; at.cp < recipe.cp; ++at.cp) ranks.push_back(rank_at(recipe, at));
  };
  switch (kind) {
    case GroupKind::kTensor:
      for (at.tp = 0; at.tp < recipe.tp; ++at.tp) ranks.push_back(rank_at(recipe, at));
      break;
    case GroupKind::kContext:
      over_contexts();
      break;
    case GroupKind::kReplica:
      for (at.dp = 0; at.dp < recipe.dp; ++at.dp) over_contexts();
      break;
    case GroupKind::kExpert: {
      const std::int64_t first = place.dp - place.dp % recipe.ep;
      for (at.dp = first; at.dp < first + recipe.ep; ++at.dp) ranks.push_back(rank_at(recipe, at));
      break;
    }
    case GroupKind::kExpertData:
      for (at.dp = place.dp % recipe.ep; at.dp < recipe.dp; at.dp += recipe.ep) over_contexts();
      break;
    case GroupKind::kEmbedding:
      for (const std::int64_t stage : {std::int64_t{0}, recipe.pp - 1}) {
        at.stage = stage;
        ranks.push_back(rank_at(recipe, at));
      }
      break;
  }
  return ranks;
}

bool is_member(const Recipe& recipe, GroupKind kind, const Place& place) {
  const bool is_outer = place.stage == 0 || place.stage == recipe.pp - 1;
  if (kind == GroupKind::kEmbedding && !is_outer) return false;
  return group_size(recipe, kind) > 1;
}

std::string group_name(const Recipe& recipe, GroupKind kind, const Place& place) {
  const Place& p = place;
  std::int64_t number = 0;
  switch (kind) {
    case GroupKind::kTensor:
      number = (p.stage * recipe.dp + p.dp) * recipe.cp + p.cp;
      break;
    case GroupKind::kContext:
      number = (p.stage * recipe.dp + p.dp) * recipe.tp + p.tp;
      break;
    case GroupKind::kReplica:
      number = p.stage * recipe.tp + p.tp;
      break;
    case GroupKind::kExpert:
      number = ((p.stage * (recipe.dp / recipe.ep) + p.dp / recipe.ep) * recipe.cp + p.cp) * recipe.tp + p.tp;
      break;
    case GroupKind::kExpertData:
      number = (p.stage * recipe.ep + p.dp % recipe.ep) * recipe.tp + p.tp;
      break;
    case GroupKind::kEmbedding:
      number = (p.dp * recipe.cp + p.cp) * recipe.tp + p.tp;
      break;
  }
  return fmt::format("{}.{}", to_text(kind), number);
}

Groups all_groups(const Recipe& recipe) {
  Groups groups;
  const bool trains = recipe.mode == Mode::kTrain;
  for (std::size_t i = 0; i < kGroupKinds; ++i) {
    const auto kind = static_cast<GroupKind>(i);
    const bool is_of_experts = kind == GroupKind::kExpert || kind == GroupKind::kExpertData;
    const bool is_of_gradients =
        kind == GroupKind::kReplica || kind == GroupKind::kExpertData || kind == GroupKind::kEmbedding;
    if (is_of_experts && !recipe.model.is_moe()) continue;
    if (is_of_gradients && !trains) continue;
    if (kind == GroupKind::kEmbedding && !recipe.model.tied_embeddings) continue;
    // A ring of messages needs no group, and decoding combines partial results by a collective.
    if (kind == GroupKind::kContext && recipe.has_ring && recipe.mode != Mode::kDecode) continue;
    for (Rank rank = 0; rank < recipe.ranks(); ++rank) {
      const Place place = place_of(recipe, rank);
      if (!is_member(recipe, kind, place)) continue;
      std::vector<Rank> ranks = members(recipe, kind, place);
      if (ranks.front() == rank) groups.emplace(group_name(recipe, kind, place), std::move(ranks));
    }
  }
  return groups;
}

}  // namespace orrery::workload::generate
