// SPDX-License-Identifier: Apache-2.0
// One message from the root to the other rank, in pieces if asked. Bytes on the wire: S.
#include <fmt/format.h>

#include "orrery/collectives/algorithm.hpp"
#include "orrery/collectives/plan/tree_flow.hpp"

namespace orrery::collectives::plan {

Algorithm point_to_point() {
  return {
      .name = "point_to_point",
      .help = "One rank sends, the other receives.",
      .operations = {Operation::kSendReceive},
      .refusal =
          [](const PlanRequest& request) {
            return request.ranks == 2 ? "" : fmt::format("joins two ranks, not {}", request.ranks);
          },
      .plan =
          [](const PlanRequest& request) {
            return flow(request.operation, 2, {Tree{std::vector<Rank>(2, request.root)}}, request.pieces);
          },
      .wire_bytes = [](const PlanRequest& request,
                       const Layout& layout) { return flow_bytes(request.operation, 2, layout); },
  };
}

}  // namespace orrery::collectives::plan
