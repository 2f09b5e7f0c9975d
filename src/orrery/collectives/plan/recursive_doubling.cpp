// SPDX-License-Identifier: Apache-2.0
// Recursive doubling: log2(p) steps in which partners swap everything they have. Least steps for short
// all_reduces; all_gather for powers of two only (bruck does the others). With p the largest power of two in n
// and e = n-p, the bytes on the wire are (p log2(p) + 2e)S for all_reduce and (n-1)S for all_gather.
#include <bit>

#include "orrery/collectives/plan/blocks.hpp"
#include "orrery/collectives/plan/cube_schedule.hpp"

namespace orrery::collectives::plan {

namespace {

std::unique_ptr<Schedule> plan_doubling(const PlanRequest& request) {
  using Stage = CubeSchedule::Stage;
  return std::make_unique<CubeSchedule>(CubeSchedule::Spec{
      .ranks = request.ranks,
      .stages = {request.operation == Operation::kAllGather ? Stage::kDouble : Stage::kWhole},
      .adds = request.operation != Operation::kBarrier,
  });
}

std::string refuse_doubling(const PlanRequest& request) {
  const bool needs_cube = request.operation == Operation::kAllGather;
  return needs_cube && !std::has_single_bit(request.ranks) ? "needs a power of two ranks for all_gather" : "";
}

Bytes doubling_bytes(const PlanRequest& request, const Layout& layout) {
  const Bytes total = total_bytes(layout);
  if (request.operation == Operation::kAllGather) return total * (request.ranks - 1);
  const Fold fold{request.ranks};
  return total * (std::int64_t{fold.cube_size()} * fold.steps() + 2 * fold.extra());
}

}  // namespace

Algorithm recursive_doubling() {
  return {
      .name = "recursive_doubling",
      .help = "Partners at doubling distance swap all they have; log2(n) steps.",
      .operations = {Operation::kAllReduce, Operation::kAllGather, Operation::kBarrier},
      .refusal = refuse_doubling,
      .plan = plan_doubling,
      .wire_bytes = doubling_bytes,
  };
}

}  // namespace orrery::collectives::plan
