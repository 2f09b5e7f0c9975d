// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/generate/pass.hpp"

#include <ranges>

namespace orrery::workload::generate {
namespace {

using collectives::Operation;

Rank in_ring(const Recipe& recipe, Place place, std::int64_t distance) {
  place.cp = (place.cp + recipe.cp + distance) % recipe.cp;
  return rank_at(recipe, place);
}

}  // namespace

PassEmitter::PassEmitter(const Recipe& recipe, const Place& place, Emitter& out)
    : recipe_{recipe}, out_{out}, next_{in_ring(recipe, place, 1)}, previous_{in_ring(recipe, place, -1)} {}

void PassEmitter::forward(const Block& block, const StagePlan& plan) {
  for (const Element& element : block) {
    switch (element.kind) {
      case ElementKind::kCompute:
        out_.compute(element.name, element.work);
        break;
      case ElementKind::kCore:
        attend(plan);
        break;
      case ElementKind::kGather:
        out_.exchange(Operation::kAllGather, GroupKind::kTensor, div_ceil(element.bytes, recipe_.tp),
                      "tp_gather");
        break;
      case ElementKind::kScatter:
        out_.exchange(Operation::kReduceScatter, GroupKind::kTensor, element.bytes, "tp_scatter");
        break;
      case ElementKind::kSum:
        out_.exchange(Operation::kAllReduce, GroupKind::kTensor, element.bytes, "tp_sum");
        break;
      case ElementKind::kSumBackward:
        break;
      case ElementKind::kAllToAll:
        out_.exchange(Operation::kAllToAll, GroupKind::kExpert, element.bytes, "expert_exchange");
        break;
      case ElementKind::kCombineContext:
        out_.exchange(Operation::kAllReduce, GroupKind::kContext, element.bytes, "context_sum");
        break;
    }
  }
  out_.flush();
}

void PassEmitter::backward(const Block& block, const StagePlan& plan) {
  for (const Element& element : std::views::reverse(block)) {
    switch (element.kind) {
      case ElementKind::kCompute:
        out_.compute(element.name, generate::backward(element.work));
        break;
      case ElementKind::kCore:
        attend_backward(plan);
        break;
      case ElementKind::kGather:
        out_.exchange(Operation::kReduceScatter, GroupKind::kTensor, element.bytes, "tp_scatter");
        break;
      case ElementKind::kScatter:
        out_.exchange(Operation::kAllGather, GroupKind::kTensor, div_ceil(element.bytes, recipe_.tp),
                      "tp_gather");
        break;
      case ElementKind::kSumBackward:
        out_.exchange(Operation::kAllReduce, GroupKind::kTensor, element.bytes, "tp_sum");
        break;
      case ElementKind::kAllToAll:
        out_.exchange(Operation::kAllToAll, GroupKind::kExpert, element.bytes, "expert_exchange");
        break;
      case ElementKind::kSum:
      case ElementKind::kCombineContext:
        break;
    }
  }
  out_.flush();
}

Work PassEmitter::core(std::int64_t step) const {
  const ModelSpec& model = recipe_.model;
  const std::int64_t pairs = step < 0 ? all_pairs(recipe_) : ring_pairs(recipe_, step);
  const std::int64_t keys = step < 0 ? recipe_.seq : recipe_.seq / recipe_.cp;
  return attention(recipe_.micro_batch * pairs, recipe_.tokens(), recipe_.micro_batch * keys,
                   model.attention_width() / recipe_.tp, model.kv_width() / recipe_.tp, recipe_.element);
}

void PassEmitter::attend(const StagePlan& plan) {
  if (recipe_.cp > 1 && recipe_.has_ring) return ring(plan, false);
  out_.exchange(Operation::kAllGather, GroupKind::kContext, plan.kv_bytes, "kv_gather");
  out_.compute("attention", core(-1));
}

void PassEmitter::attend_backward(const StagePlan& plan) {
  if (recipe_.recomputes_core) {
    const std::string_view phase = out_.label.phase;
    out_.flush();
    out_.label.phase = "rec";
    attend(plan);
    out_.flush();
    out_.label.phase = phase;
  }
  if (recipe_.cp > 1 && recipe_.has_ring) return ring(plan, true);
  out_.exchange(Operation::kAllGather, GroupKind::kContext, plan.kv_bytes, "kv_gather");
  out_.compute("attention", generate::backward(core(-1)));
  out_.exchange(Operation::kReduceScatter, GroupKind::kContext, plan.kv_bytes * recipe_.cp, "dkv_scatter");
}

void PassEmitter::ring(const StagePlan& plan, bool is_backward) {
  const std::vector<OpId> start = out_.producers();
  std::vector<OpId> steps;  // Computations of the ring.
  OpId arrived = 0;         // Keys for this step.
  OpId gradients = 0;       // Those of the keys that were here last, on their way with them.
  for (std::int64_t step = 0; step < recipe_.cp; ++step) {
    OpId coming = 0;
    if (step + 1 < recipe_.cp) {
      std::vector<OpId> after = start;
      if (step > 0) after.assign(1, arrived);
      // Two buffers: the one to receive into was read two steps ago.
      if (step > 1) after.push_back(steps[static_cast<std::size_t>(step - 2)]);
      const std::int64_t tag = ring_messages_++;
      out_.send(next_, plan.kv_bytes, tag, "kv_send", after);
      coming = out_.receive(previous_, plan.kv_bytes, tag, "kv_receive", after);
    }
    if (arrived != 0) out_.wait_for(arrived);
    out_.compute("attention", is_backward ? generate::backward(core(step)) : core(step));
    steps.push_back(out_.last_compute());
    arrived = coming;
    if (!is_backward) continue;
    std::vector<OpId> after{steps.back()};
    if (gradients != 0) after.push_back(gradients);
    const std::int64_t tag = ring_messages_++;
    out_.send(next_, plan.kv_bytes, tag, "dkv_send", after);
    gradients = out_.receive(previous_, plan.kv_bytes, tag, "dkv_receive", after);
  }
  if (gradients != 0) out_.wait_for(gradients);
}

}  // namespace orrery::workload::generate
