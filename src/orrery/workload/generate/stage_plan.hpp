// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What one pipeline stage does with one micro-batch, as lists of elements. A list read forwards is the forward pass;
/// read backwards, with each element's counterpart, it is the backward pass.
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/workload/generate/cost.hpp"
#include "orrery/workload/generate/layout.hpp"

namespace orrery::workload::generate {

enum class ElementKind : std::uint8_t {
  kCompute,         ///< Backward: twice the work.
  kCore,            ///< Attention itself, with the keys of other context-parallel ranks.
  kGather,          ///< All-gather over tp; backward: reduce-scatter.
  kScatter,         ///< Reduce-scatter over tp; backward: all-gather.
  kSum,             ///< All-reduce over tp in the forward pass only.
  kSumBackward,     ///< All-reduce over tp in the backward pass only.
  kAllToAll,        ///< Over ep, both ways.
  kCombineContext,  ///< All-reduce over cp of what was attended to in parts; forward only.
};

struct Element {
  ElementKind kind = ElementKind::kCompute;
  std::string name{};
  Work work{};
  std::int64_t bytes = 0;  ///< Of communication: the whole buffer of a rank.
};

/// Elements between which nothing but the pass itself happens.
using Block = std::vector<Element>;

struct StagePlan {
  std::vector<Block> layer{};  ///< Blocks of one layer; all layers are alike.
  Block embedding{};           ///< Empty unless it is the first stage.
  Block logits{};              ///< Empty unless it is the last stage.
  std::int64_t layers = 0;
  // Parameters on this rank.
  std::int64_t layer_parameters = 0;
  std::int64_t expert_parameters = 0;  ///< Of one layer.
  std::int64_t embedding_parameters = 0;
  std::int64_t logits_parameters = 0;  ///< With the last norm.
  std::int64_t tied_parameters = 0;    ///< Of the matrix that first and last stage both hold.
  std::int64_t boundary_bytes = 0;     ///< What goes to the next stage.
  std::int64_t kv_bytes = 0;           ///< Keys and values of one rank's part of the sequences.

  [[nodiscard]] std::int64_t dense_parameters() const {
    return layers * layer_parameters + embedding_parameters + logits_parameters;
  }
  [[nodiscard]] std::int64_t parameters() const { return dense_parameters() + layers * expert_parameters; }
};

/// `context`: tokens that decoding finds before its own; not used otherwise.
[[nodiscard]] StagePlan plan_stage(const Recipe& recipe, const Place& place, std::int64_t context);

}  // namespace orrery::workload::generate
