// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The dimensions of a decoder-only transformer, and how many parameters follow from them. docs/trace-make.md has the
/// formulas.
#include <cstdint>
#include <string>

#include "orrery/config/spec.hpp"

namespace orrery::workload::generate {

struct ModelSpec {
  std::string name;  ///< Of its file.
  std::string description;
  std::int64_t layers = 0;
  std::int64_t hidden = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;  ///< 0 = as many as heads.
  std::int64_t head_dim = 0;  ///< 0 = hidden / heads.
  std::int64_t ffn = 0;       ///< Width of the MLP, or of one expert.
  std::int64_t vocab = 0;
  std::int64_t experts = 0;  ///< Of each layer; 0 = one dense MLP.
  std::int64_t experts_per_token = 0;
  bool gated = true;
  bool biases = false;
  bool tied_embeddings = false;
  std::int64_t positions = 0;
  std::string norm = "rms";

  template <class Visitor>
  static void fields(Visitor&& field) {
    using config::Rule;
    field("description", &ModelSpec::description, "One line about it.");
    dimension_fields(field);
  }
  template <class Visitor>
  static void dimension_fields(Visitor&& field) {
    using config::Rule;
    const auto count = [](double least, double most) { return Rule{.min = least, .max = most}; };
    field("layers", &ModelSpec::layers, "Transformer layers.", count(1, 65'536));
    field("hidden", &ModelSpec::hidden, "Width of the residual stream.", count(1, 1 << 20));
    field("heads", &ModelSpec::heads, "Attention heads.", count(1, 65'536));
    field("kv_heads", &ModelSpec::kv_heads, "Heads of keys and values; 0 = as many as heads.",
          count(0, 65'536));
    field("head_dim", &ModelSpec::head_dim, "Width of a head; 0 = hidden / heads.", count(0, 65'536));
    field("ffn", &ModelSpec::ffn, "Width of the MLP, or of one expert.", count(1, 1 << 22));
    field("vocab", &ModelSpec::vocab, "Size of the vocabulary.", count(1, 1 << 24));
    field("experts", &ModelSpec::experts, "Experts of each layer; 0 = one dense MLP.", count(0, 65'536));
    field("experts_per_token", &ModelSpec::experts_per_token, "Experts that each token goes to.",
          count(0, 65'536));
    field("gated", &ModelSpec::gated, "The MLP has a gate: three matrices, not two.");
    field("biases", &ModelSpec::biases, "Linear layers have biases.");
    field("tied_embeddings", &ModelSpec::tied_embeddings, "The logits use the matrix of the embedding.");
    field("positions", &ModelSpec::positions, "Learned positions; 0 = none (rotary).", count(0, 1 << 24));
    field("norm", &ModelSpec::norm, "rms has a scale, layer also a shift.",
          Rule{.choices = {"rms", "layer"}});
  }

  [[nodiscard]] bool is_moe() const { return experts > 0; }
  [[nodiscard]] std::int64_t attention_width() const { return heads * head_dim; }
  [[nodiscard]] std::int64_t kv_width() const { return kv_heads * head_dim; }
  [[nodiscard]] std::int64_t mlp_matrices() const { return gated ? 3 : 2; }
  [[nodiscard]] std::int64_t norm_parameters() const { return norm == "layer" ? 2 * hidden : hidden; }
};

/// Parameters of one layer that a tensor-parallel rank of `tp` holds. Matrices are split; what stands at the width of
/// the residual stream (norms, router, biases of outputs) is on every rank.
[[nodiscard]] std::int64_t layer_parameters(const ModelSpec& model, std::int64_t tp);
/// Likewise of one expert. Those of the experts are not in layer_parameters().
[[nodiscard]] std::int64_t expert_parameters(const ModelSpec& model, std::int64_t tp);
/// Of the whole model.
[[nodiscard]] std::int64_t parameters(const ModelSpec& model);
/// Those that one token meets: all but the experts it does not go to.
[[nodiscard]] std::int64_t active_parameters(const ModelSpec& model);

/// Fills in what is 0 for "as usual" and checks the dimensions against each other. Errors point into `at`.
void complete_model(ModelSpec& model, const config::Cursor& at);
/// A preset of catalog/models, or a file when `name` has a '/' or ends in .yaml. Not completed yet. An unknown name is
/// an error at `at` with the nearest one.
[[nodiscard]] ModelSpec load_model(const std::string& name, const std::string& catalog,
                                   const config::Cursor& at);

}  // namespace orrery::workload::generate
