// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/generate/model.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

#include "orrery/topology/catalog.hpp"

namespace orrery::workload::generate {
namespace {

std::int64_t mlp_parameters(const ModelSpec& model, std::int64_t tp) {
  const std::int64_t ups = model.mlp_matrices() - 1;
  const std::int64_t biases = model.biases ? ups * model.ffn / tp + model.hidden : 0;
  return model.mlp_matrices() * model.hidden * (model.ffn / tp) + biases;
}

std::int64_t embedding_parameters(const ModelSpec& model) {
  const std::int64_t tables = model.tied_embeddings ? 1 : 2;
  return (tables * model.vocab + model.positions) * model.hidden + model.norm_parameters();
}

/// Points at a field when it was given, else at the whole.
[[noreturn]] void fail_at(const config::Cursor& at, const char* field, const std::string& expected) {
  if (at.has(field)) at.at(field).fail(expected);
  at.fail(fmt::format("{}: {}", field, expected));
}

}  // namespace

std::int64_t layer_parameters(const ModelSpec& model, std::int64_t tp) {
  const std::int64_t heads_width = model.attention_width() + 2 * model.kv_width();
  std::int64_t count = model.hidden * (heads_width / tp) + model.attention_width() / tp * model.hidden;
  if (model.biases) count += heads_width / tp + model.hidden;
  count += 2 * model.norm_parameters();
  count += model.is_moe() ? model.hidden * model.experts : mlp_parameters(model, tp);
  return count;
}

std::int64_t expert_parameters(const ModelSpec& model, std::int64_t tp) {
  return model.is_moe() ? mlp_parameters(model, tp) : 0;
}

std::int64_t parameters(const ModelSpec& model) {
  const std::int64_t layer = layer_parameters(model, 1) + model.experts * expert_parameters(model, 1);
  return model.layers * layer + embedding_parameters(model);
}

std::int64_t active_parameters(const ModelSpec& model) {
  const std::int64_t layer =
      layer_parameters(model, 1) + model.experts_per_token * expert_parameters(model, 1);
  return model.layers * layer + embedding_parameters(model);
}

void complete_model(ModelSpec& model, const config::Cursor& at) {
  constexpr std::array<std::pair<const char*, std::int64_t ModelSpec::*>, 5> kNeeded{
      {{"layers", &ModelSpec::layers},
       {"hidden", &ModelSpec::hidden},
       {"heads", &ModelSpec::heads},
       {"ffn", &ModelSpec::ffn},
       {"vocab", &ModelSpec::vocab}}};
  for (const auto& [name, member] : kNeeded) {
    if (model.*member == 0) fail_at(at, name, "required, as no model that has it is named");
  }
  if (model.kv_heads == 0) model.kv_heads = model.heads;
  if (model.heads % model.kv_heads != 0) {
    fail_at(at, "kv_heads", fmt::format("expected a divisor of the {} heads", model.heads));
  }
  if (model.head_dim == 0) {
    if (model.hidden % model.heads != 0) {
      fail_at(at, "heads", fmt::format("expected a divisor of hidden ({}), or head_dim", model.hidden));
    }
    model.head_dim = model.hidden / model.heads;
  }
  if (model.is_moe() && model.experts_per_token == 0) {
    model.experts_per_token = std::min<std::int64_t>(2, model.experts);
  }
  if (!model.is_moe() && model.experts_per_token != 0) {
    fail_at(at, "experts_per_token", "the model has no experts");
  }
  if (model.experts_per_token > model.experts) {
    fail_at(at, "experts_per_token",
            fmt::format("expected at most the {} experts of a layer", model.experts));
  }
  // So that counts of parameters and their bytes fit in 64 bits.
  constexpr double kMostParameters = 1e16;
  const double width = static_cast<double>(model.attention_width() + model.kv_width() + model.hidden);
  const double mlps =
      static_cast<double>(std::max<std::int64_t>(model.experts, 1)) * 3.0 * static_cast<double>(model.ffn);
  const double count =
      static_cast<double>(model.layers) * static_cast<double>(model.hidden) * (2 * width + mlps);
  if (count > kMostParameters) {
    at.fail(fmt::format("the model would have {:.1e} parameters: expected at most 1e16", count));
  }
}

ModelSpec load_model(const std::string& name, const std::string& directory, const config::Cursor& at) {
  const topology::Catalog catalog{directory};
  const bool is_file = name.find('/') != std::string::npos || name.ends_with(".yaml");
  const std::string path = is_file ? name : catalog.model_path(name);
  if (path.empty()) {
    const std::vector<std::string> known = catalog.model_names();
    at.fail(fmt::format("no such model; the catalogue has: {}", join(known, ", ")),
            nearest_name(name, known));
  }
  const config::Document document = config::Document::load(path);
  auto model = config::read_spec<ModelSpec>(config::Cursor{document});
  const std::size_t folder = path.find_last_of('/');
  model.name = path.substr(folder == std::string::npos ? 0 : folder + 1);
  if (model.name.ends_with(".yaml")) model.name.resize(model.name.size() - 5);
  return model;
}

}  // namespace orrery::workload::generate
