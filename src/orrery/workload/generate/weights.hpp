// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Weights and gradients between ranks that hold the same: what data parallelism sends, in buckets of one layer each.
///   zero 0  gradients are all-reduced, once per step
///   zero 1  reduce-scattered once per step; each rank updates its share; weights are all-gathered (Megatron's
///           distributed optimizer)
///   zero 2  likewise, gradients reduce-scattered after every micro-batch, as only the share is kept
///   zero 3  likewise, and weights are gathered before each layer of each pass, none after the update (FSDP)
#include "orrery/workload/generate/emitter.hpp"

namespace orrery::workload::generate {

/// Parameters that travel together.
struct Bucket {
  std::int64_t layer = -1;  ///< For names; -1 = embedding or logits.
  std::int64_t dense = 0;
  std::int64_t expert = 0;
};

class WeightEmitter : Pinned {
 public:
  WeightEmitter(const Recipe& recipe, Emitter& out) : recipe_{recipe}, out_{out} {}

  /// All-gathers what a pass is about to use; the ids to wait for.
  [[nodiscard]] std::vector<OpId> gather(const Bucket& bucket);
  /// The bucket's gradients of this micro-batch are there.
  void reduce(const Bucket& bucket);
  /// Reduces what reduce() has put off because nothing overlaps.
  void reduce_rest();
  /// Everything after the last backward pass: tied embedding, update, and weights for the next step.
  void update(const StagePlan& plan, const std::vector<Bucket>& buckets);

 private:
  void reduce_now(const Bucket& bucket);
  OpId gather_part(GroupKind kind, std::int64_t parameters, std::string_view name,
                   std::span<const OpId> after);

  const Recipe& recipe_;
  Emitter& out_;
  std::vector<Bucket> put_off_{};
};

}  // namespace orrery::workload::generate
