// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/generate/weights.hpp"

#include <array>
#include <utility>

namespace orrery::workload::generate {
namespace {

using collectives::Operation;

struct Part {
  GroupKind kind;
  std::int64_t parameters;
};

std::array<Part, 2> parts_of(const Bucket& bucket) {
  return {{{GroupKind::kReplica, bucket.dense}, {GroupKind::kExpertData, bucket.expert}}};
}

}  // namespace

OpId WeightEmitter::gather_part(GroupKind kind, std::int64_t parameters, std::string_view name,
                                std::span<const OpId> after) {
  if (parameters == 0) return 0;
  const std::int64_t share = div_ceil(parameters, group_size(recipe_, kind));
  return out_.collective(Operation::kAllGather, kind, share * recipe_.element, name, after);
}

std::vector<OpId> WeightEmitter::gather(const Bucket& bucket) {
  std::vector<OpId> ids;
  const OpId last = out_.last_compute();
  const std::vector<OpId> after = last == 0 ? std::vector<OpId>{} : std::vector<OpId>{last};
  const std::int64_t layer = std::exchange(out_.label.layer, bucket.layer);
  for (const Part& part : parts_of(bucket)) {
    if (const OpId id = gather_part(part.kind, part.parameters, "weight_gather", after); id != 0) {
      ids.push_back(id);
    }
  }
  out_.label.layer = layer;
  return ids;
}

void WeightEmitter::reduce(const Bucket& bucket) {
  if (recipe_.overlaps) return reduce_now(bucket);
  put_off_.push_back(bucket);
}

void WeightEmitter::reduce_rest() {
  const std::int64_t layer = out_.label.layer;
  for (const Bucket& bucket : put_off_) {
    out_.label.layer = bucket.layer;
    reduce_now(bucket);
  }
  out_.label.layer = layer;
  put_off_.clear();
}

void WeightEmitter::reduce_now(const Bucket& bucket) {
  const OpId last = out_.last_compute();
  for (const Part& part : parts_of(bucket)) {
    if (part.parameters == 0) continue;
    const std::int64_t ranks = group_size(recipe_, part.kind);
    const bool is_shared = recipe_.zero > 0;
    const std::int64_t padded = is_shared ? div_ceil(part.parameters, ranks) * ranks : part.parameters;
    out_.collective(is_shared ? Operation::kReduceScatter : Operation::kAllReduce, part.kind,
                    padded * recipe_.gradient_element, is_shared ? "gradient_scatter" : "gradient_sum",
                    std::span{&last, 1});
  }
}

void WeightEmitter::update(const StagePlan& plan, const std::vector<Bucket>& buckets) {
  out_.label.phase = {};
  out_.label.layer = -1;
  out_.label.micro_batch = -1;
  std::vector<OpId> after;
  const auto add_last = [&](GroupKind kind) {
    if (const OpId id = out_.last_of(kind); id != 0) after.push_back(id);
  };
  add_last(GroupKind::kReplica);
  if (plan.tied_parameters > 0) {
    std::vector<OpId> made = after;
    made.push_back(out_.last_compute());
    out_.collective(Operation::kAllReduce, GroupKind::kEmbedding,
                    plan.tied_parameters * recipe_.gradient_element, "embedding_sum", made);
    add_last(GroupKind::kEmbedding);
  }
  add_last(GroupKind::kExpertData);
  const bool is_shared = recipe_.zero > 0;
  const std::int64_t dense = plan.dense_parameters();
  const std::int64_t expert = plan.layers * plan.expert_parameters;
  const std::int64_t own =
      is_shared ? div_ceil(dense, recipe_.replicas()) + div_ceil(expert, recipe_.expert_replicas())
                : dense + expert;
  // Adam: the gradient is read; master weight and two moments, 4 bytes each, are read and written; the weight is
  // written.
  constexpr std::int64_t kStateBytes = 24;
  const OpId updated =
      out_.update("optimizer", move(own * (recipe_.gradient_element + kStateBytes + recipe_.element)), after);
  out_.forget_waits();
  if (recipe_.zero != 1 && recipe_.zero != 2) return;
  OpId last_dense = 0;
  OpId last_expert = 0;
  for (const Bucket& bucket : buckets) {
    out_.label.layer = bucket.layer;
    const std::span<const OpId> done{&updated, 1};
    if (const OpId id = gather_part(GroupKind::kReplica, bucket.dense, "weight_gather", done)) {
      last_dense = id;
    }
    if (const OpId id = gather_part(GroupKind::kExpertData, bucket.expert, "weight_gather", done)) {
      last_expert = id;
    }
  }
  out_.label.layer = -1;
  for (const OpId id : {last_dense, last_expert}) {
    if (id != 0) out_.wait_for(id);
  }
}

}  // namespace orrery::workload::generate
