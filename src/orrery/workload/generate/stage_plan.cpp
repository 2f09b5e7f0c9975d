// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/generate/stage_plan.hpp"

#include "orrery/base/units.hpp"

namespace orrery::workload::generate {
namespace {

/// Builds the blocks of one recipe; names of fields as in docs/trace-make.md.
class Builder {
 public:
  Builder(const Recipe& recipe, std::int64_t context)
      : recipe_{recipe},
        model_{recipe.model},
        tokens_{recipe.tokens()},
        context_{context},
        stream_bytes_{tokens_ * model_.hidden * recipe.element} {}

  [[nodiscard]] Block attention_block() const {
    const std::int64_t width = model_.attention_width() / recipe_.tp;
    const std::int64_t kv_width = model_.kv_width() / recipe_.tp;
    Block block;
    enter(block, stream_bytes_);
    add(block, "qkv", product(tokens_, model_.hidden, width + 2 * kv_width, recipe_.element));
    if (recipe_.mode == Mode::kDecode) {
      add_decoding(block, width, kv_width);
    } else {
      block.push_back({.kind = ElementKind::kCore, .name = "attention"});
    }
    add(block, "projection", product(tokens_, width, model_.hidden, recipe_.element));
    leave(block, stream_bytes_);
    return block;
  }

  [[nodiscard]] Block mlp_block() const {
    Block block;
    enter(block, stream_bytes_);
    add_mlp(block, "mlp", tokens_, 1);
    leave(block, stream_bytes_);
    return block;
  }

  /// Tokens go to the ranks of their experts and come back. With sequence parallelism a rank sends its part of the
  /// tokens and the tensor-parallel group gathers what arrived; without, every rank of it sends all of them.
  [[nodiscard]] Block expert_block() const {
    const bool is_split = recipe_.has_sequence_parallel;
    const std::int64_t own = is_split ? tokens_ / recipe_.tp : tokens_;
    const std::int64_t routed = model_.experts_per_token * model_.hidden * recipe_.element;
    Block block;
    if (!is_split && recipe_.tp > 1) communicate(block, ElementKind::kSumBackward, stream_bytes_);
    add(block, "router", product(own, model_.hidden, model_.experts, recipe_.element));
    if (recipe_.ep > 1) communicate(block, ElementKind::kAllToAll, own * routed);
    if (is_split) communicate(block, ElementKind::kGather, tokens_ * routed);
    add_mlp(block, "expert", tokens_ * model_.experts_per_token, model_.experts / recipe_.ep);
    if (is_split) communicate(block, ElementKind::kScatter, tokens_ * routed);
    if (recipe_.ep > 1) communicate(block, ElementKind::kAllToAll, own * routed);
    if (!is_split && recipe_.tp > 1) communicate(block, ElementKind::kSum, stream_bytes_);
    return block;
  }

  [[nodiscard]] Block embedding_block() const {
    Block block;
    add(block, "embedding", move(2 * stream_bytes_));
    leave(block, stream_bytes_);
    return block;
  }

  /// Inference wants the next token of each sequence only.
  [[nodiscard]] Block logits_block(std::int64_t vocab) const {
    const std::int64_t rows = recipe_.mode == Mode::kTrain ? tokens_ : recipe_.micro_batch;
    Block block;
    enter(block, rows * model_.hidden * recipe_.element);
    add(block, "logits", product(rows, model_.hidden, vocab, recipe_.element));
    // Whoever samples needs all of them.
    const std::int64_t padded = div_ceil(model_.vocab, recipe_.tp) * recipe_.tp;
    if (recipe_.mode != Mode::kTrain && recipe_.tp > 1) {
      communicate(block, ElementKind::kGather, rows * padded * recipe_.element);
    }
    return block;
  }

  [[nodiscard]] std::int64_t boundary_bytes() const {
    return recipe_.has_sequence_parallel ? stream_bytes_ / recipe_.tp : stream_bytes_;
  }
  [[nodiscard]] std::int64_t kv_bytes() const {
    return 2 * tokens_ * (model_.kv_width() / recipe_.tp) * recipe_.element;
  }

 private:
  static void add(Block& block, std::string name, Work work) {
    block.push_back({.kind = ElementKind::kCompute, .name = std::move(name), .work = work});
  }
  static void communicate(Block& block, ElementKind kind, std::int64_t bytes) {
    block.push_back({.kind = kind, .bytes = bytes});
  }
  /// Megatron's f, or g-bar of sequence parallelism.
  void enter(Block& block, std::int64_t bytes) const {
    if (recipe_.tp == 1) return;
    communicate(block, recipe_.has_sequence_parallel ? ElementKind::kGather : ElementKind::kSumBackward,
                bytes);
  }
  void leave(Block& block, std::int64_t bytes) const {
    if (recipe_.tp == 1) return;
    communicate(block, recipe_.has_sequence_parallel ? ElementKind::kScatter : ElementKind::kSum, bytes);
  }
  void add_mlp(Block& block, const std::string& name, std::int64_t rows, std::int64_t experts) const {
    const std::int64_t ffn = model_.ffn / recipe_.tp;
    const std::int64_t ups = model_.mlp_matrices() - 1;
    add(block, name + "_up", product(rows, model_.hidden, ups * ffn, recipe_.element, experts));
    add(block, name + "_down", product(rows, ffn, model_.hidden, recipe_.element, experts));
  }
  /// One new token per sequence sees the context and itself; context-parallel ranks hold a part of it each.
  void add_decoding(Block& block, std::int64_t width, std::int64_t kv_width) const {
    const std::int64_t keys = tokens_ * div_ceil(context_ + 1, recipe_.cp);
    add(block, "attention", attention(keys, tokens_, keys, width, kv_width, recipe_.element));
    if (recipe_.cp > 1) communicate(block, ElementKind::kCombineContext, tokens_ * width * recipe_.element);
  }

  const Recipe& recipe_;
  const ModelSpec& model_;
  std::int64_t tokens_;
  std::int64_t context_;
  std::int64_t stream_bytes_;  // Of the residual stream.
};

}  // namespace

StagePlan plan_stage(const Recipe& recipe, const Place& place, std::int64_t context) {
  const ModelSpec& model = recipe.model;
  const Builder builder{recipe, context};
  StagePlan plan;
  plan.layers = recipe.layers_per_stage();
  plan.layer.push_back(builder.attention_block());
  plan.layer.push_back(model.is_moe() ? builder.expert_block() : builder.mlp_block());
  plan.layer_parameters = layer_parameters(model, recipe.tp);
  if (model.is_moe()) {
    plan.expert_parameters = model.experts / recipe.ep * expert_parameters(model, recipe.tp);
  }
  const bool is_first = place.stage == 0;
  const bool is_last = place.stage == recipe.pp - 1;
  const std::int64_t table = recipe.vocab_share(place.tp) * model.hidden;
  if (is_first) {
    plan.embedding = builder.embedding_block();
    plan.embedding_parameters = table + model.positions * model.hidden;
  }
  if (is_last) {
    plan.logits = builder.logits_block(recipe.vocab_share(place.tp));
    const bool is_own_table = !model.tied_embeddings || !is_first;
    plan.logits_parameters = model.norm_parameters() + (is_own_table ? table : 0);
  }
  if (model.tied_embeddings && recipe.pp > 1 && (is_first || is_last)) plan.tied_parameters = table;
  plan.boundary_bytes = builder.boundary_bytes();
  plan.kv_bytes = builder.kv_bytes();
  return plan;
}

}  // namespace orrery::workload::generate
