// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/generate/rank_source.hpp"

#include <utility>

namespace orrery::workload::generate {
namespace {

/// What messages between stages carry; part of their tags.
enum MessageKind : std::int64_t { kActivation = 0, kGradient = 1, kToken = 2, kMessageKinds = 3 };

std::vector<Pass> passes_of(const Recipe& recipe, const Place& place) {
  if (recipe.mode != Mode::kTrain) return forward_only(recipe.micro_batches);
  if (recipe.is_gpipe) return gpipe(recipe.micro_batches);
  return one_forward_one_backward(place.stage, recipe.pp, recipe.micro_batches);
}

constexpr std::int64_t kTokenBytes = 4;

}  // namespace

RankSource::RankSource(std::shared_ptr<const Recipe> recipe, Rank rank)
    : recipe_{std::move(recipe)},
      place_{place_of(*recipe_, rank)},
      plan_{plan_stage(*recipe_, place_, recipe_->seq)},
      passes_{passes_of(*recipe_, place_)},
      out_{*recipe_, place_},
      pass_emitter_{*recipe_, place_, out_},
      weights_{*recipe_, out_} {
  using Kind = Unit::Kind;
  if (!plan_.embedding.empty()) units_.push_back({Kind::kEmbedding, {-1, plan_.embedding_parameters, 0}});
  for (std::int64_t layer = 0; layer < plan_.layers; ++layer) {
    const std::int64_t number = place_.stage * plan_.layers + layer;
    units_.push_back({Kind::kLayer, {number, plan_.layer_parameters, plan_.expert_parameters}});
  }
  if (!plan_.logits.empty()) units_.push_back({Kind::kLogits, {-1, plan_.logits_parameters, 0}});
  if (recipe_->op_time > Duration{}) count_computations();
}

/// Runs through one forward and one backward pass, as if they were the only ones, to see what op_time is shared among.
void RankSource::count_computations() {
  auto probe = std::make_shared<Recipe>(*recipe_);
  probe->op_time = {};
  probe->steps = 1;
  probe->micro_batches = 1;
  RankSource source{std::move(probe), rank_at(*recipe_, place_)};
  source.is_counting_ = true;
  Op op;
  while (source.next(op)) {
  }
  computations_ = source.computations_;
}

bool RankSource::next(Op& op) {
  while (out_.is_empty()) {
    if (!make_more()) return false;
  }
  return out_.take(op);
}

bool RankSource::make_more() {
  if (step_ == recipe_->steps) return false;
  if (pass_ == passes_.size()) {
    end_step();
  } else {
    if (unit_ == 0) begin_pass();
    make_unit();
    if (++unit_ == units_.size()) end_pass();
  }
  return true;
}

const RankSource::Unit& RankSource::unit_at(std::size_t index) const {
  return units_[passes_[pass_].is_backward ? units_.size() - 1 - index : index];
}

const Block& RankSource::block_of(const Unit& unit) const {
  return unit.kind == Unit::Kind::kEmbedding ? plan_.embedding : plan_.logits;
}

Rank RankSource::at_stage(std::int64_t stage) const {
  Place place = place_;
  place.stage = stage;
  return rank_at(*recipe_, place);
}

std::int64_t RankSource::tag(std::int64_t kind) const {
  const std::int64_t number = step_ * recipe_->micro_batches + passes_[pass_].micro_batch;
  return number * kMessageKinds + kind;
}

void RankSource::begin_pass() {
  const Pass& pass = passes_[pass_];
  out_.label = {.phase = pass.is_backward ? "bwd" : "fwd", .micro_batch = pass.micro_batch, .step = step_};
  out_.forget_waits();
  out_.share = 0;
  out_.shares = computations_.at(pass.is_backward ? 1 : 0);
  out_.shared_time = recipe_->op_time * (pass.is_backward ? 2 : 1);
  if (is_counting_) out_.shares = 0;
  receive_boundary();
  if (recipe_->zero == 3) fetched_ = weights_.gather(unit_at(0).bucket);
}

void RankSource::receive_boundary() {
  const Pass& pass = passes_[pass_];
  const bool is_first = place_.stage == 0;
  const bool is_last = place_.stage == recipe_->pp - 1;
  // Two buffers per direction: what arrives is written where the pass before the last one has read.
  const OpId free = ends_.at(pass.is_backward ? 1 : 0).at(1);
  const std::span<const OpId> after{&free, free == 0 ? 0U : 1U};
  if (!pass.is_backward && !is_first) {
    out_.wait_for(out_.receive(at_stage(place_.stage - 1), plan_.boundary_bytes, tag(kActivation),
                               "activation_receive", after));
  }
  if (pass.is_backward && !is_last) {
    out_.wait_for(out_.receive(at_stage(place_.stage + 1), plan_.boundary_bytes, tag(kGradient),
                               "gradient_receive", after));
  }
  const bool takes_token = recipe_->mode == Mode::kDecode && is_first && !is_last && step_ > 0;
  if (!takes_token) return;
  // The last stage sent it in the step before.
  const std::int64_t sent = tag(kToken) - recipe_->micro_batches * kMessageKinds;
  out_.wait_for(out_.receive(at_stage(recipe_->pp - 1), recipe_->micro_batch * kTokenBytes, sent,
                             "token_receive", after));
}

/// Gathers the weights of the unit after this one, so that they travel while this one computes.
void RankSource::fetch_weights() {
  const std::vector<OpId> here = std::exchange(fetched_, {});
  if (unit_ + 1 < units_.size()) {
    const Unit& after = unit_at(unit_ + 1);
    // The way back through an embedding does not read it.
    const bool is_read = !passes_[pass_].is_backward || after.kind != Unit::Kind::kEmbedding;
    if (is_read) fetched_ = weights_.gather(after.bucket);
  }
  for (const OpId id : here) out_.wait_for(id);
}

void RankSource::make_unit() {
  const Unit& unit = unit_at(unit_);
  out_.label.layer = unit.bucket.layer;
  if (recipe_->zero == 3) fetch_weights();
  const Pass& pass = passes_[pass_];
  if (!pass.is_backward) return run_forward(unit);
  run_backward(unit);
  const bool is_last_pass = pass.micro_batch == recipe_->micro_batches - 1;
  if (recipe_->zero >= 2 || is_last_pass) weights_.reduce(unit.bucket);
}

void RankSource::run_forward(const Unit& unit) {
  if (unit.kind != Unit::Kind::kLayer) return pass_emitter_.forward(block_of(unit), plan_);
  for (const Block& block : plan_.layer) pass_emitter_.forward(block, plan_);
}

void RankSource::run_backward(const Unit& unit) {
  if (unit.kind != Unit::Kind::kLayer) return pass_emitter_.backward(block_of(unit), plan_);
  if (recipe_->recomputes_layers) {
    out_.label.phase = "rec";
    run_forward(unit);
    out_.label.phase = "bwd";
  }
  for (auto block = plan_.layer.rbegin(); block != plan_.layer.rend(); ++block) {
    pass_emitter_.backward(*block, plan_);
  }
}

void RankSource::end_pass() {
  const Pass pass = passes_[pass_];
  const bool is_first = place_.stage == 0;
  const bool is_last = place_.stage == recipe_->pp - 1;
  out_.label.layer = -1;
  const std::vector<OpId> made = out_.producers();
  if (!pass.is_backward && !is_last) {
    out_.send(at_stage(place_.stage + 1), plan_.boundary_bytes, tag(kActivation), "activation_send", made);
  }
  if (pass.is_backward && !is_first) {
    out_.send(at_stage(place_.stage - 1), plan_.boundary_bytes, tag(kGradient), "gradient_send", made);
  }
  const bool gives_token =
      recipe_->mode == Mode::kDecode && is_last && !is_first && step_ + 1 < recipe_->steps;
  if (gives_token) {
    out_.send(at_stage(0), recipe_->micro_batch * kTokenBytes, tag(kToken), "token_send", made);
  }
  if (pass.is_backward) weights_.reduce_rest();
  std::array<OpId, 2>& ends = ends_.at(pass.is_backward ? 1 : 0);
  ends = {out_.last_compute(), ends[0]};
  if (is_counting_) computations_.at(pass.is_backward ? 1 : 0) = out_.share;
  out_.forget_waits();
  unit_ = 0;
  ++pass_;
}

void RankSource::end_step() {
  if (trains()) {
    std::vector<Bucket> buckets;
    for (const Unit& unit : units_) buckets.push_back(unit.bucket);
    weights_.update(plan_, buckets);
  }
  pass_ = 0;
  ++step_;
  if (recipe_->mode == Mode::kDecode && step_ < recipe_->steps) {
    plan_ = plan_stage(*recipe_, place_, recipe_->seq + step_);
  }
}

}  // namespace orrery::workload::generate
