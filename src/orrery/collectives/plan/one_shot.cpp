// SPDX-License-Identifier: Apache-2.0
// One-shot all-reduce: everyone sends its whole buffer to everyone and adds up what it gets. One step and
// n(n-1)S bytes: for the small messages of tensor-parallel inference inside one node, where latency is all.
#include "orrery/collectives/plan/blocks.hpp"
#include "orrery/collectives/plan/exchange_schedule.hpp"

namespace orrery::collectives::plan {

Algorithm one_shot() {
  return {
      .name = "one_shot",
      .help = "Whole buffers to everyone in one step; for small messages.",
      .operations = {Operation::kAllReduce},
      .refusal = {},
      .plan =
          [](const PlanRequest& request) {
            return std::make_unique<ExchangeSchedule>(ExchangeSchedule::Spec{
                .ranks = request.ranks,
                .phases = {ExchangeSchedule::Phase::kEverything},
                .at_once = true,
            });
          },
      .wire_bytes =
          [](const PlanRequest& request, const Layout& layout) {
            return total_bytes(layout) * request.ranks * (request.ranks - 1);
          },
  };
}

}  // namespace orrery::collectives::plan
