// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/generate/recipe.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/topology/catalog.hpp"

namespace orrery::workload::generate {
namespace {

constexpr std::string_view kHead = "make";

[[noreturn]] void fail_at(const config::Cursor& at, const char* field, const std::string& expected) {
  if (at.has(field)) at.at(field).fail(expected);
  at.fail(fmt::format("{}: {}", field, expected));
}

/// `degree` must divide `whole`, which is "the 32 layers" and the like.
void expect_divisor(const config::Cursor& at, const char* field, std::int64_t degree, std::int64_t whole,
                    const char* what) {
  if (whole % degree == 0) return;
  fail_at(at, field, fmt::format("expected a divisor of {}, which is {}", what, whole));
}

std::int64_t bytes_of(const std::string& type) {
  if (type == "fp32") return 4;
  return type == "fp8" ? 1 : 2;
}

ModelSpec read_model(const MakeSpec& spec, const config::Cursor& at, const std::string& catalog) {
  ModelSpec model;
  model.name = "model";
  if (!spec.model.empty()) model = load_model(spec.model, catalog, at.at("model"));
  const auto over = [](auto& value, const auto& given) {
    if (given) value = *given;
  };
  over(model.layers, spec.layers);
  over(model.hidden, spec.hidden);
  over(model.heads, spec.heads);
  over(model.kv_heads, spec.kv_heads);
  over(model.head_dim, spec.head_dim);
  over(model.ffn, spec.ffn);
  over(model.vocab, spec.vocab);
  over(model.experts, spec.experts);
  over(model.experts_per_token, spec.experts_per_token);
  over(model.positions, spec.positions);
  over(model.gated, spec.gated);
  over(model.biases, spec.biases);
  over(model.tied_embeddings, spec.tied_embeddings);
  over(model.norm, spec.norm);
  if (spec.experts == 0 && !spec.experts_per_token) model.experts_per_token = 0;
  complete_model(model, at);
  return model;
}

void check_degrees(const Recipe& recipe, const config::Cursor& at) {
  const ModelSpec& model = recipe.model;
  constexpr double kMostRanks = 1 << 20;
  const double ranks = static_cast<double>(recipe.tp) * static_cast<double>(recipe.pp) *
                       static_cast<double>(recipe.dp) * static_cast<double>(recipe.cp);
  if (ranks > kMostRanks) {
    at.fail(fmt::format("tp * pp * dp * cp is {}: expected at most 1048576 ranks", ranks));
  }
  expect_divisor(at, "tp", recipe.tp, model.heads, "the number of heads");
  expect_divisor(at, "tp", recipe.tp, model.kv_heads, "the number of heads of keys and values");
  expect_divisor(at, "tp", recipe.tp, model.ffn, "the width of the MLP (ffn)");
  if (recipe.tp > model.vocab) {
    fail_at(at, "tp", fmt::format("expected at most the vocabulary, {}", model.vocab));
  }
  expect_divisor(at, "pp", recipe.pp, model.layers, "the number of layers");
  if (recipe.ep > 1 && !model.is_moe()) fail_at(at, "ep", "the model has no experts");
  if (recipe.ep > 1) expect_divisor(at, "ep", recipe.ep, model.experts, "the number of experts");
  expect_divisor(at, "ep", recipe.ep, recipe.dp, "dp");
  expect_divisor(at, "cp", recipe.cp, recipe.seq, "seq");
  if (recipe.is_causal && recipe.cp > 1 && recipe.mode != Mode::kDecode) {
    expect_divisor(at, "cp", 2 * recipe.cp, recipe.seq,
                   "seq, twice over: a causal mask is balanced in halves");
  }
}

void check_batches(const MakeSpec& spec, Recipe& recipe, const config::Cursor& at) {
  const bool trains = recipe.mode == Mode::kTrain;
  recipe.batch = spec.batch;
  recipe.micro_batch = spec.micro_batch;
  if (recipe.batch == 0) recipe.batch = recipe.dp * recipe.pp * std::max<std::int64_t>(recipe.micro_batch, 1);
  expect_divisor(at, "dp", recipe.dp, recipe.batch, "batch");
  const std::int64_t of_replica = recipe.batch / recipe.dp;
  if (recipe.micro_batch == 0) recipe.micro_batch = trains ? 1 : of_replica;
  expect_divisor(at, "micro_batch", recipe.micro_batch, of_replica, "batch / dp");
  recipe.micro_batches = of_replica / recipe.micro_batch;
  if (recipe.has_sequence_parallel) {
    expect_divisor(at, "tp", recipe.tp, recipe.tokens(),
                   "the number of tokens of a micro-batch (sequence_parallel splits them)");
  }
}

/// Sums over a step must stay far from what 64 bits hold.
void check_sizes(const Recipe& recipe, const config::Cursor& at) {
  const ModelSpec& model = recipe.model;
  constexpr double kMost = 1e17;
  const auto width = static_cast<double>(std::max({model.hidden, model.attention_width(), model.vocab}));
  const double routed = static_cast<double>(std::max<std::int64_t>(model.experts_per_token, 1));
  const double values =
      static_cast<double>(recipe.micro_batch) * static_cast<double>(recipe.seq) * width * routed;
  if (values > kMost) {
    fail_at(at, "micro_batch", "expected fewer or shorter sequences: a micro-batch is too large");
  }
  const double sequence = static_cast<double>(recipe.seq);
  if (static_cast<double>(recipe.micro_batch) * sequence * sequence > kMost) {
    fail_at(at, "seq", "expected fewer or shorter sequences: too many pairs of tokens in a micro-batch");
  }
}

void choose_times(const MakeSpec& spec, Recipe& recipe, const config::Cursor& at,
                  const std::string& catalog) {
  if (spec.op_time > Duration{}) {
    if (!spec.device.empty()) fail_at(at, "op_time", "expected either op_time or device");
    constexpr Duration kShortest = std::chrono::microseconds{1};
    constexpr Duration kLongest = std::chrono::hours{1};
    if (spec.op_time < kShortest || spec.op_time > kLongest) fail_at(at, "op_time", "expected 1us to 1h");
    recipe.op_time = spec.op_time;
  }
  if (spec.device.empty()) {
    if (at.has("efficiency")) at.at("efficiency").fail("expected a device to which it applies");
    return;
  }
  recipe.has_device = true;
  recipe.device = topology::Catalog{catalog}.device(spec.device, at.at("device"));
  if (recipe.device.peak.per_second <= 0 || recipe.device.memory_bandwidth == Bandwidth{}) {
    at.at("device").fail("the device says no peak or no memory_bandwidth, which durations need");
  }
  recipe.device.peak.per_second *= spec.efficiency;
  const auto bits = static_cast<double>(recipe.device.memory_bandwidth.bits_per_second());
  recipe.device.memory_bandwidth =
      Bandwidth::bits_per_second(static_cast<std::int64_t>(bits * spec.efficiency));
}

}  // namespace

Recipe make_recipe(const config::Cursor& at, const std::string& catalog) {
  const auto spec = config::read_spec<MakeSpec>(at);
  Recipe recipe;
  recipe.model = read_model(spec, at, catalog);
  recipe.mode =
      spec.mode == "train" ? Mode::kTrain : (spec.mode == "prefill" ? Mode::kPrefill : Mode::kDecode);
  recipe.tp = spec.tp;
  recipe.pp = spec.pp;
  recipe.dp = spec.dp;
  recipe.ep = spec.ep;
  recipe.cp = spec.cp;
  recipe.seq = spec.seq;
  recipe.steps = spec.steps;
  recipe.zero = spec.zero;
  recipe.element = bytes_of(spec.dtype);
  recipe.gradient_element = bytes_of(spec.gradient_dtype == "same" ? spec.dtype : spec.gradient_dtype);
  recipe.is_gpipe = spec.schedule == "gpipe";
  recipe.overlaps = spec.overlap;
  recipe.has_sequence_parallel = spec.sequence_parallel && spec.tp > 1;
  recipe.has_ring = spec.context == "ring";
  recipe.recomputes_core = spec.recompute == "selective";
  recipe.recomputes_layers = spec.recompute == "full";
  recipe.is_causal = spec.mask == "causal";
  recipe.merges = spec.detail == "block";
  if (recipe.mode != Mode::kTrain) {
    if (spec.zero != 0) at.at("zero").fail("is about training; expected 0 in this mode");
    if (spec.recompute != "none") at.at("recompute").fail("is about training; expected none in this mode");
  }
  check_degrees(recipe, at);
  check_batches(spec, recipe, at);
  check_sizes(recipe, at);
  choose_times(spec, recipe, at, catalog);
  recipe.settings = config::write_spec(spec);
  return recipe;
}

Recipe parse_recipe(const std::string& line, const std::string& source, const std::string& catalog) {
  std::string head;
  const config::Document document = config::Document::from_line(line, source, head);
  return make_recipe(config::Cursor{document}, catalog);
}

bool is_recipe(std::string_view text) {
  return text.starts_with(kHead) && text.substr(kHead.size()).starts_with(':');
}

}  // namespace orrery::workload::generate
