// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The operations of one rank, made one layer at a time while they are read.
#include <array>
#include <memory>
#include <vector>

#include "orrery/workload/generate/pass.hpp"
#include "orrery/workload/generate/schedule.hpp"
#include "orrery/workload/generate/weights.hpp"

namespace orrery::workload::generate {

class RankSource final : public OpSource {
 public:
  RankSource(std::shared_ptr<const Recipe> recipe, Rank rank);
  bool next(Op& op) override;

 private:
  /// A part of a pass that has weights of its own: embedding, a layer, or the logits.
  struct Unit {
    enum class Kind : std::uint8_t { kEmbedding, kLayer, kLogits };
    Kind kind = Kind::kLayer;
    Bucket bucket{};
  };

  [[nodiscard]] bool trains() const { return recipe_->mode == Mode::kTrain; }
  [[nodiscard]] const Unit& unit_at(std::size_t index) const;
  [[nodiscard]] const Block& block_of(const Unit& unit) const;
  [[nodiscard]] Rank at_stage(std::int64_t stage) const;
  [[nodiscard]] std::int64_t tag(std::int64_t kind) const;

  bool make_more();
  void begin_pass();
  void make_unit();
  void end_pass();
  void end_step();
  void receive_boundary();
  void receive_token();
  void run_forward(const Unit& unit);
  void run_backward(const Unit& unit);
  void fetch_weights();
  void count_computations();

  std::shared_ptr<const Recipe> recipe_;
  Place place_;
  StagePlan plan_;
  std::vector<Pass> passes_;
  std::vector<Unit> units_;  // In the order of the forward pass.
  Emitter out_;
  PassEmitter pass_emitter_;
  WeightEmitter weights_;

  std::int64_t step_ = 0;
  std::size_t pass_ = 0;
  std::size_t unit_ = 0;
  bool is_counting_ = false;
  std::vector<OpId> fetched_{};  // Weights of the next unit, on their way.
  // Of forward and backward passes: last computations of the latest two, newest first.
  std::array<std::array<OpId, 2>, 2> ends_{};
  std::array<std::int64_t, 2> computations_{};  // Of a pass; 0 = op_time is not used.
};

}  // namespace orrery::workload::generate
