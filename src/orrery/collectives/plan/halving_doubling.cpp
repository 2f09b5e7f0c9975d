// SPDX-License-Identifier: Apache-2.0
// Recursive halving and doubling (Rabenseifner, 2004): a reduce-scatter in which partners swap half of what they
// are left with, then an all-gather that undoes it. As few bytes as the ring in 2 log2(p) steps; the partners of
// the largest messages are the farthest apart. Bytes on the wire, with p the largest power of two in n and
// e = n-p: all_reduce 2(p-1)S + 2eS, reduce_scatter (powers of two) (n-1)S.
#include <bit>

#include "orrery/collectives/plan/blocks.hpp"
#include "orrery/collectives/plan/cube_schedule.hpp"

namespace orrery::collectives::plan {

namespace {

std::unique_ptr<Schedule> plan_halving(const PlanRequest& request) {
  using Stage = CubeSchedule::Stage;
  CubeSchedule::Spec spec{.ranks = request.ranks, .stages = {Stage::kHalve}};
  if (request.operation == Operation::kAllReduce) spec.stages.push_back(Stage::kDouble);
  return std::make_unique<CubeSchedule>(std::move(spec));
}

std::string refuse_halving(const PlanRequest& request) {
  const bool needs_cube = request.operation == Operation::kReduceScatter;
  return needs_cube && !std::has_single_bit(request.ranks) ? "needs a power of two ranks for reduce_scatter"
                                                           : "";
}

Bytes halving_bytes(const PlanRequest& request, const Layout& layout) {
  const Fold fold{request.ranks};
  const Bytes one_way = total_bytes(layout) * (fold.cube_size() - 1 + fold.extra());
  return request.operation == Operation::kAllReduce ? one_way * 2 : one_way;
}

}  // namespace

Algorithm halving_doubling() {
  return {
      .name = "halving_doubling",
      .help = "Halving reduce-scatter, doubling all-gather; least bytes in 2 log2(n) steps.",
      .operations = {Operation::kAllReduce, Operation::kReduceScatter},
      .refusal = refuse_halving,
      .plan = plan_halving,
      .wire_bytes = halving_bytes,
  };
}

}  // namespace orrery::collectives::plan
