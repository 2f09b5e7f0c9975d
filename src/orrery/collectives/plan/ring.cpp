// SPDX-License-Identifier: Apache-2.0
// Ring (Patarasuk and Yuan, 2009). Bandwidth-optimal for any number of ranks, with latency in proportion to it.
// Bytes on the wire for a buffer of S: reduce_scatter and all_gather (n-1)S, all_reduce twice that, reduce
// (n-1)S plus the blocks that go to the root. n or more chunks are needed for the bandwidth to be used.
#include "orrery/collectives/plan/blocks.hpp"
#include "orrery/collectives/plan/ring_schedule.hpp"

namespace orrery::collectives::plan {

namespace {

std::unique_ptr<Schedule> plan_ring(const PlanRequest& request) {
  const Operation operation = request.operation;
  return std::make_unique<RingSchedule>(RingSchedule::Spec{
      .ranks = request.ranks,
      .reduces = operation != Operation::kAllGather,
      .gathers = operation == Operation::kAllReduce || operation == Operation::kAllGather,
      .collects = operation == Operation::kReduce,
      .root = request.root,
      .pieces = request.pieces,
      .window = request.window,
  });
}

Bytes ring_bytes(const PlanRequest& request, const Layout& layout) {
  const Bytes once = total_bytes(layout) * (request.ranks - 1);
  switch (request.operation) {
    case Operation::kAllReduce:
      return once * 2;
    case Operation::kReduce:
      return once + total_bytes(layout) - block_bytes(layout, request.root, request.ranks);
    default:
      return once;
  }
}

}  // namespace

Algorithm ring() {
  return {
      .name = "ring",
      .help = "Each rank passes blocks to the next; least bytes, n-1 steps per phase.",
      .operations = {Operation::kAllReduce, Operation::kAllGather, Operation::kReduceScatter,
                     Operation::kReduce},
      .refusal = {},
      .plan = plan_ring,
      .wire_bytes = ring_bytes,
  };
}

}  // namespace orrery::collectives::plan
