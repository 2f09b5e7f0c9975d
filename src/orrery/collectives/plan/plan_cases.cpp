// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/plan/plan_cases.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace orrery::collectives::plan {

namespace {

bool has_root(Operation operation) {
  return operation == Operation::kBroadcast || operation == Operation::kReduce ||
         operation == Operation::kGather || operation == Operation::kScatter ||
         operation == Operation::kSendReceive;
}

std::vector<Rank> roots(Operation operation, Rank ranks) {
  if (!has_root(operation)) return {0};
  std::vector<Rank> result{0, ranks / 2, ranks - 1};
  result.erase(std::ranges::unique(result).begin(), result.end());
  return result;
}

/// One dim, two dims in every way, and three where two leave room.
std::vector<std::vector<std::uint32_t>> dims(Rank ranks) {
  std::vector<std::vector<std::uint32_t>> result;
  for (std::uint32_t first = 1; first <= ranks; ++first) {
    if (ranks % first != 0) continue;
    const std::uint32_t rest = ranks / first;
    result.push_back({first, rest});
    for (std::uint32_t second = 2; second < rest; ++second) {
      if (first > 1 && rest % second == 0) result.push_back({first, second, rest / second});
    }
  }
  return result;
}

/// Ranks under one switch; a tree of ranks only; and, with switches of four ranks each, a chain of those and a tree
/// of two levels. When one rank is left over, the last switch of the chain has but that.
std::vector<AggregationTree> trees(Rank ranks) {
  std::vector<AggregationTree> result(2);
  result[0].parent.assign(ranks + 1, ranks);
  for (Rank rank = 0; rank < ranks; ++rank) result[1].parent.push_back(rank == 0 ? 0 : (rank - 1) / 2);
  const Rank switches = (ranks + 3) / 4;
  if (switches == 1) return result;

  std::vector<Rank> hosts;
  hosts.reserve(ranks);
  for (Rank rank = 0; rank < ranks; ++rank) hosts.push_back(ranks + rank / 4);
  AggregationTree chain{hosts};
  for (Rank number = 0; number < switches; ++number) {
    chain.parent.push_back(ranks + (number == 0 ? 0 : number - 1));
  }
  AggregationTree two_levels{hosts};
  two_levels.parent.insert(two_levels.parent.end(), switches + 1, ranks + switches);
  result.push_back(std::move(chain));
  result.push_back(std::move(two_levels));
  return result;
}

constexpr std::uint32_t kPieces = 3;

std::vector<PlanRequest> plain_cases(Rank ranks) {
  std::vector<PlanRequest> result;
  for (std::size_t operation = 0; operation < kOperationCount; ++operation) {
    PlanRequest request;
    request.operation = static_cast<Operation>(operation);
    request.ranks = ranks;
    for (const Rank root : roots(request.operation, ranks)) {
      request.root = root;
      for (const std::uint32_t pieces : {1U, kPieces}) {
        request.pieces = pieces;
        result.push_back(request);
      }
    }
  }
  return result;
}

}  // namespace

std::vector<PlanRequest> plan_cases(Rank ranks) {
  const std::vector<PlanRequest> plain = plain_cases(ranks);
  std::vector<PlanRequest> result = plain;
  const auto tree_choices = trees(ranks);
  const auto dim_choices = dims(ranks);
  for (const PlanRequest& request : plain) {
    if (request.pieces > 1) {
      result.push_back(request);
      result.back().window = 2;
    }
    for (const auto& tree : tree_choices) {
      result.push_back(request);
      result.back().tree = tree;
    }
    for (const auto& sizes : dim_choices) {
      result.push_back(request);
      result.back().dims = sizes;
    }
  }
  return result;
}

std::vector<PlanRequest> few_plan_cases(Rank ranks) {
  std::vector<PlanRequest> result;
  const auto tree_choices = trees(ranks);
  const auto dim_choices = dims(ranks);
  for (const PlanRequest& request : plain_cases(ranks)) {
    if (request.root != ranks / 2 && has_root(request.operation)) continue;
    if (request.pieces > 1) continue;
    result.push_back(request);
    result.back().tree = tree_choices.back();
    result.back().dims = dim_choices[dim_choices.size() / 2];
  }
  return result;
}

std::string to_text(const PlanRequest& request) {
  return fmt::format("{} ranks={} root={} pieces={} window={} dims=[{}] tree=[{}]",
                     to_text(request.operation), request.ranks, request.root, request.pieces, request.window,
                     fmt::join(request.dims, ","), fmt::join(request.tree.parent, ","));
}

std::vector<std::string> algorithm_names() {
  const AlgorithmRegistry registry = builtin_algorithms();
  std::vector<std::string> names;
  for (const Algorithm& algorithm : registry.all()) names.push_back(algorithm.name);
  return names;
}

}  // namespace orrery::collectives::plan
