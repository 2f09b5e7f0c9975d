// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What `direct` and `pairwise` have in common: the same messages, in another order.
#include "orrery/collectives/plan/blocks.hpp"
#include "orrery/collectives/plan/exchange_schedule.hpp"

namespace orrery::collectives::plan {

[[nodiscard]] inline std::vector<ExchangeSchedule::Phase> exchange_phases(Operation operation) {
  using Phase = ExchangeSchedule::Phase;
  switch (operation) {
    case Operation::kReduceScatter:
      return {Phase::kDistribute};
    case Operation::kAllGather:
      return {Phase::kCollect};
    case Operation::kAllToAll:
      return {Phase::kPersonal};
    default:
      return {Phase::kDistribute, Phase::kCollect};
  }
}

[[nodiscard]] inline Bytes exchange_bytes(const PlanRequest& request, const Layout& layout) {
  const Bytes total = total_bytes(layout);
  const Rank ranks = request.ranks;
  if (request.operation == Operation::kAllToAll) {
    Bytes kept;  // What a rank has for itself does not travel.
    for (Rank rank = 0; rank < ranks; ++rank) kept += block_bytes(layout, rank * ranks + rank, ranks * ranks);
    return total - kept;
  }
  return total * (ranks - 1) * (request.operation == Operation::kAllReduce ? 2 : 1);
}

/// `order` says how the messages follow each other; its ranks and phases are those of the request.
[[nodiscard]] inline Algorithm exchange_algorithm(std::string name, std::string help,
                                                  const ExchangeSchedule::Spec& order) {
  return {
      .name = std::move(name),
      .help = std::move(help),
      .operations = {Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter,
                     Operation::kAllToAll},
      .refusal = {},
      .plan =
          [order](const PlanRequest& request) {
            ExchangeSchedule::Spec spec = order;
            spec.ranks = request.ranks;
            spec.phases = exchange_phases(request.operation);
            return std::make_unique<ExchangeSchedule>(std::move(spec));
          },
      .wire_bytes = exchange_bytes,
  };
}

}  // namespace orrery::collectives::plan
