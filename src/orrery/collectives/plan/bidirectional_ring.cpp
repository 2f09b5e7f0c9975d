// SPDX-License-Identifier: Apache-2.0
// Two rings in opposite directions, each with half of every block. The bytes are those of one ring, but both
// directions of each link carry half of them, so a ring of full-duplex links takes half the time.
#include "orrery/collectives/plan/blocks.hpp"
#include "orrery/collectives/plan/ring_schedule.hpp"

namespace orrery::collectives::plan {

namespace {

std::unique_ptr<Schedule> plan_rings(const PlanRequest& request) {
  return std::make_unique<RingSchedule>(RingSchedule::Spec{
      .ranks = request.ranks,
      .reduces = request.operation != Operation::kAllGather,
      .gathers = request.operation != Operation::kReduceScatter,
      .both_ways = true,
      .pieces = request.pieces,
      .window = request.window,
  });
}

Bytes ring_bytes(const PlanRequest& request, const Layout& layout) {
  const Bytes once = total_bytes(layout) * (request.ranks - 1);
  return request.operation == Operation::kAllReduce ? once * 2 : once;
}

}  // namespace

Algorithm bidirectional_ring() {
  return {
      .name = "bidirectional_ring",
      .help = "Two rings in opposite directions with half the data each.",
      .operations = {Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter},
      .refusal = {},
      .plan = plan_rings,
      .wire_bytes = ring_bytes,
  };
}

}  // namespace orrery::collectives::plan
