// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Settings that fit together, with what follows from them. Everything that makes operations starts from here.
#include <cstdint>
#include <string>

#include "orrery/topology/cluster.hpp"
#include "orrery/workload/generate/make_spec.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::workload::generate {

enum class Mode : std::uint8_t { kTrain, kPrefill, kDecode };

struct Recipe {
  ModelSpec model;
  Mode mode = Mode::kTrain;
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t dp = 1;
  std::int64_t ep = 1;
  std::int64_t cp = 1;
  std::int64_t batch = 1;
  std::int64_t micro_batch = 1;
  std::int64_t micro_batches = 1;  ///< Of each replica and step.
  std::int64_t seq = 1;
  std::int64_t steps = 1;
  std::int64_t zero = 0;
  std::int64_t element = 2;           ///< Bytes of a weight or activation.
  std::int64_t gradient_element = 2;  ///< Bytes of a gradient.
  bool is_gpipe = false;
  bool overlaps = true;
  bool has_sequence_parallel = false;
  bool has_ring = true;  ///< Context parallelism by a ring; else by all-gather.
  bool recomputes_core = false;
  bool recomputes_layers = false;
  bool is_causal = false;
  bool merges = false;  ///< Operators between two communications are one operation.
  bool has_device = false;
  topology::DeviceSpec device{};  ///< With the efficiency taken off.
  Duration op_time{};
  std::string settings{};  ///< All of them, as text.

  [[nodiscard]] Rank ranks() const { return static_cast<Rank>(tp * pp * dp * cp); }
  [[nodiscard]] std::int64_t layers_per_stage() const { return model.layers / pp; }
  /// Ranks that hold the same dense weights.
  [[nodiscard]] std::int64_t replicas() const { return dp * cp; }
  /// Ranks that hold the same experts.
  [[nodiscard]] std::int64_t expert_replicas() const { return dp / ep * cp; }
  /// Tokens of a micro-batch that a rank computes on.
  [[nodiscard]] std::int64_t tokens() const {
    return mode == Mode::kDecode ? micro_batch : micro_batch * (seq / cp);
  }
  /// Rows of the vocabulary on tensor-parallel rank `index`: the first ones have one more when it does not divide.
  [[nodiscard]] std::int64_t vocab_share(std::int64_t index) const {
    return model.vocab / tp + (index < model.vocab % tp ? 1 : 0);
  }
};

/// Checks that the settings fit together. InputError points at the one that does not.
[[nodiscard]] Recipe make_recipe(const config::Cursor& at, const std::string& catalog = {});
/// "make:model=llama-3-8b,tp=8,..."; `source` is named in errors.
[[nodiscard]] Recipe parse_recipe(const std::string& line, const std::string& source,
                                  const std::string& catalog = {});
/// Whether a text is of that form.
[[nodiscard]] bool is_recipe(std::string_view text);

}  // namespace orrery::workload::generate
