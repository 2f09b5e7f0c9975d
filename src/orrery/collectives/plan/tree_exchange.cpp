// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/tree_exchange.hpp"

#include <utility>

#include "orrery/base/check.hpp"

namespace orrery::collectives::plan {

TreeExchange::TreeExchange(Tree tree, Rank ranks, std::uint32_t pieces, Purpose purpose)
    : tree_{std::move(tree)}, ranks_{ranks}, pieces_{pieces}, is_gather_{purpose == Purpose::kAllGather} {
  ORRERY_CHECK(ranks_ >= 2 && ranks_ <= tree_.size(), "{} ranks in a tree of {}", ranks_, tree_.size());
}

std::vector<Rank> TreeExchange::peers(Rank rank, std::uint32_t) const { return tree_.neighbours(rank); }

// A block takes as many actions as there are neighbours: it comes from one or goes to one, and the reverse for the
// rest. The own block goes to all or comes from all.
std::uint64_t TreeExchange::length(Rank rank, std::uint32_t) const {
  return std::uint64_t{tree_.degree(rank)} * ranks_ * pieces_;
}

/// The rank whose block stands at `position` of the order of `who`.
Rank TreeExchange::owner_at(Rank who, std::uint32_t position) const {
  if (who >= ranks_ || tree_.degree(who) > 1) return position;
  if (is_gather_) return position == 0 ? who : position - (position <= who ? 1 : 0);
  return position == ranks_ - 1 ? who : position + (position >= who ? 1 : 0);
}

Action TreeExchange::action(Rank rank, std::uint32_t, std::uint64_t index) const {
  const std::uint32_t degree = tree_.degree(rank);
  const auto number = static_cast<std::uint32_t>(index);
  const std::uint32_t message = number / degree;
  const std::uint32_t part = number % degree;
  const Rank owner = owner_at(rank, message / pieces_);
  const ChunkRange chunk{owner * pieces_ + message % pieces_, 1, false};
  const ActionKind outward = is_gather_ ? ActionKind::kSend : ActionKind::kReceiveReduce;
  if (owner == rank) return {outward, part, chunk};

  const std::uint32_t towards = tree_.towards(rank, owner);
  const bool is_inward = part == (is_gather_ ? 0 : degree - 1);
  if (is_inward) return {is_gather_ ? ActionKind::kReceive : ActionKind::kSend, towards, chunk};
  const std::uint32_t other = is_gather_ ? part - 1 : part;
  return {outward, other + (other >= towards ? 1 : 0), chunk};
}

}  // namespace orrery::collectives::plan
