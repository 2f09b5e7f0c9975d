// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What a user says about a made trace: the settings of `orrery trace make` and of "make:model=...,tp=8,...".
#include <optional>
#include <string>
#include <vector>

#include "orrery/config/spec.hpp"
#include "orrery/workload/generate/model.hpp"

namespace orrery::workload::generate {

struct MakeSpec {
  std::string model;
  std::string mode = "train";
  std::int64_t tp = 1;
  std::int64_t pp = 1;
  std::int64_t dp = 1;
  std::int64_t ep = 1;
  std::int64_t cp = 1;
  std::int64_t batch = 0;
  std::int64_t micro_batch = 0;
  std::int64_t seq = 2048;
  std::int64_t steps = 1;
  std::string schedule = "1f1b";
  std::int64_t zero = 0;
  bool overlap = true;
  bool sequence_parallel = false;
  std::string context = "ring";
  std::string recompute = "none";
  std::string mask = "full";
  std::string dtype = "bf16";
  std::string gradient_dtype = "same";
  std::string detail = "operator";
  std::string device;
  double efficiency = 1.0;
  Duration op_time{};
  // Dimensions that replace those of the model.
  std::optional<std::int64_t> layers{}, hidden{}, heads{}, kv_heads{}, head_dim{}, ffn{}, vocab{}, experts{},
      experts_per_token{}, positions{};
  std::optional<bool> gated{}, biases{}, tied_embeddings{};
  std::optional<std::string> norm{};

  template <class Visitor>
  static void fields(Visitor&& field) {
    using config::Rule;
    constexpr double kMostRanks = 1 << 20;
    const Rule degree{.min = 1, .max = kMostRanks};
    const Rule type{.choices = {"bf16", "fp16", "fp32", "fp8"}};
    field("model", &MakeSpec::model, "Preset of the catalogue, or a file; dimensions below replace its own.");
    field("mode", &MakeSpec::mode, "A training step, the prompt of a batch, or tokens after it.",
          Rule{.choices = {"train", "prefill", "decode"}});
    field("tp", &MakeSpec::tp, "Tensor-parallel degree.", degree);
    field("pp", &MakeSpec::pp, "Pipeline stages.", degree);
    field("dp", &MakeSpec::dp, "Data-parallel replicas.", degree);
    field("ep", &MakeSpec::ep, "Expert-parallel degree; divides dp, adds no ranks.", degree);
    field("cp", &MakeSpec::cp, "Context-parallel degree.", degree);
    field("batch", &MakeSpec::batch, "Sequences of a step, all replicas; 0 = pp micro-batches each.",
          Rule{.min = 0, .max = 1 << 24});
    field("micro_batch", &MakeSpec::micro_batch,
          "Sequences of a micro-batch; 0 = 1 in training, else all that a replica has.",
          Rule{.min = 0, .max = 1 << 24});
    field("seq", &MakeSpec::seq, "Tokens of a sequence; in decode those that are there before.",
          Rule{.min = 1, .max = 1 << 24});
    field("steps", &MakeSpec::steps, "Training steps, prompts or tokens one after the other.",
          Rule{.min = 1, .max = 1'000'000});
    field("schedule", &MakeSpec::schedule, "Order of forward and backward passes.",
          Rule{.choices = {"1f1b", "gpipe"}});
    field("zero", &MakeSpec::zero,
          "What replicas share out: 0 nothing, 1 optimizer, 2 also gradients, 3 also parameters.",
          Rule{.min = 0, .max = 3});
    field("overlap", &MakeSpec::overlap, "Gradients travel while earlier layers still compute.");
    field("sequence_parallel", &MakeSpec::sequence_parallel,
          "Tensor parallelism by all-gather and reduce-scatter instead of all-reduce.");
    field("context", &MakeSpec::context, "How context-parallel ranks see each other's keys and values.",
          Rule{.choices = {"ring", "gather"}});
    field("recompute", &MakeSpec::recompute, "What the backward pass computes again.",
          Rule{.choices = {"none", "selective", "full"}});
    field("mask", &MakeSpec::mask, "Pairs of tokens that attention computes.",
          Rule{.choices = {"full", "causal"}});
    field("dtype", &MakeSpec::dtype, "Of weights and activations.", type);
    field("gradient_dtype", &MakeSpec::gradient_dtype, "Of gradients that are reduced; same = dtype.",
          Rule{.choices = {"same", "bf16", "fp16", "fp32", "fp8"}});
    field("detail", &MakeSpec::detail, "One operation per operator, or per block between communication.",
          Rule{.choices = {"operator", "block"}});
    field("device", &MakeSpec::device, "Device whose roofline gives durations; empty = the replay's does.");
    field("efficiency", &MakeSpec::efficiency, "Part of that device's rates that is reached.",
          Rule{.min = 0.0001, .max = 1});
    field("op_time", &MakeSpec::op_time,
          "Every forward pass of a stage takes this, a backward pass twice that; 0s = not used.");
    model_fields(field);
  }
  template <class Visitor>
  static void model_fields(Visitor&& field);
};

template <class Visitor>
void MakeSpec::model_fields(Visitor&& field) {
  using config::Rule;
  const auto count = [](double least, double most) { return Rule{.min = least, .max = most}; };
  field("layers", &MakeSpec::layers, "Transformer layers.", count(1, 65'536));
  field("hidden", &MakeSpec::hidden, "Width of the residual stream.", count(1, 1 << 20));
  field("heads", &MakeSpec::heads, "Attention heads.", count(1, 65'536));
  field("kv_heads", &MakeSpec::kv_heads, "Heads of keys and values; 0 = as many as heads.", count(0, 65'536));
  field("head_dim", &MakeSpec::head_dim, "Width of a head; 0 = hidden / heads.", count(0, 65'536));
  field("ffn", &MakeSpec::ffn, "Width of the MLP, or of one expert.", count(1, 1 << 22));
  field("vocab", &MakeSpec::vocab, "Size of the vocabulary.", count(1, 1 << 24));
  field("experts", &MakeSpec::experts, "Experts of each layer; 0 = one dense MLP.", count(0, 65'536));
  field("experts_per_token", &MakeSpec::experts_per_token, "Experts that each token goes to.",
        count(0, 65'536));
  field("gated", &MakeSpec::gated, "The MLP has a gate: three matrices, not two.");
  field("biases", &MakeSpec::biases, "Linear layers have biases.");
  field("tied_embeddings", &MakeSpec::tied_embeddings, "The logits use the matrix of the embedding.");
  field("positions", &MakeSpec::positions, "Learned positions; 0 = none.", count(0, 1 << 24));
  field("norm", &MakeSpec::norm, "rms has a scale, layer also a shift.", Rule{.choices = {"rms", "layer"}});
}

}  // namespace orrery::workload::generate
