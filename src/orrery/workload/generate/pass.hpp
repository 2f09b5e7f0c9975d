// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Blocks of a stage as operations, forwards and backwards.
#include "orrery/workload/generate/emitter.hpp"

namespace orrery::workload::generate {

class PassEmitter : Pinned {
 public:
  PassEmitter(const Recipe& recipe, const Place& place, Emitter& out);

  void forward(const Block& block, const StagePlan& plan);
  void backward(const Block& block, const StagePlan& plan);

 private:
  // Attention of a context-parallel rank: its own queries with everybody's keys.
  void attend(const StagePlan& plan);
  void attend_backward(const StagePlan& plan);
  void ring(const StagePlan& plan, bool is_backward);
  /// Own queries with the keys that ring step `step` brings; all keys when it is negative.
  [[nodiscard]] Work core(std::int64_t step) const;

  const Recipe& recipe_;
  Emitter& out_;
  Rank next_;  // In the ring of context-parallel ranks.
  Rank previous_;
  std::int64_t ring_messages_ = 0;
};

}  // namespace orrery::workload::generate
