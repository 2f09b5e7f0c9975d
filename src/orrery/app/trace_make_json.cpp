// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "orrery/app/trace_make.hpp"

namespace orrery::app {
namespace {

namespace generate = workload::generate;
using Json = nlohmann::ordered_json;

Json model_json(const generate::ModelSpec& model) {
  return {{"name", model.name},
          {"parameters", generate::parameters(model)},
          {"active_parameters", generate::active_parameters(model)},
          {"layers", model.layers},
          {"hidden", model.hidden},
          {"heads", model.heads},
          {"kv_heads", model.kv_heads},
          {"head_dim", model.head_dim},
          {"ffn", model.ffn},
          {"vocab", model.vocab},
          {"experts", model.experts},
          {"experts_per_token", model.experts_per_token},
          {"gated", model.gated},
          {"biases", model.biases},
          {"tied_embeddings", model.tied_embeddings},
          {"positions", model.positions},
          {"norm", model.norm}};
}

Json communication_json(const std::vector<generate::CommunicationTotal>& totals) {
  Json list = Json::array();
  for (const generate::CommunicationTotal& total : totals) {
    list.push_back({{"operation", total.operation},
                    {"group", total.group},
                    {"group_size", total.members},
                    {"calls", total.calls},
                    {"bytes", total.bytes}});
  }
  return list;
}

Json stages_json(const generate::Summary& summary) {
  Json list = Json::array();
  for (const generate::RankTotal& kind : summary.kinds) {
    list.push_back({{"stage", kind.stage},
                    {"tp_ranks", {kind.first_tp, kind.last_tp}},
                    {"operations", kind.operations},
                    {"flops", kind.flops},
                    {"tensor_bytes", kind.tensor_bytes},
                    {"parameters", kind.parameters},
                    {"communication", communication_json(kind.communication)}});
  }
  return list;
}

Json ranks_json(const TraceMakeResult& result) {
  Json list = Json::array();
  for (workload::Rank rank = 0; rank < result.recipe.ranks(); ++rank) {
    const generate::Place place = generate::place_of(result.recipe, rank);
    const generate::RankTotal& kind = generate::kind_of(result.recipe, result.summary, rank);
    list.push_back({{"rank", rank},
                    {"stage", place.stage},
                    {"tp", place.tp},
                    {"cp", place.cp},
                    {"dp", place.dp},
                    {"operations", kind.operations},
                    {"flops", kind.flops},
                    {"parameters", kind.parameters}});
  }
  return list;
}

}  // namespace

std::string to_json(const TraceMakeResult& result) {
  const generate::Recipe& recipe = result.recipe;
  const generate::Summary& summary = result.summary;
  const bool is_exact = summary.exact_flops != 0 || summary.flops == 0;
  Json json{{"name", result.name},
            {"model", model_json(recipe.model)},
            {"degrees",
             {{"tp", recipe.tp}, {"pp", recipe.pp}, {"dp", recipe.dp}, {"ep", recipe.ep}, {"cp", recipe.cp}}},
            {"rank_count", recipe.ranks()},
            {"batch", recipe.batch},
            {"micro_batch", recipe.micro_batch},
            {"micro_batches", recipe.micro_batches},
            {"seq", recipe.seq},
            {"steps", recipe.steps},
            {"parameters", generate::parameters(recipe.model)},
            {"flops", is_exact ? Json(summary.exact_flops) : Json(summary.flops)},
            {"operations", summary.operations},
            {"bubble_fraction", summary.bubble},
            {"communication", communication_json(summary.communication)},
            {"stages", stages_json(summary)},
            {"ranks", ranks_json(result)}};
  Json files = nullptr;
  if (!result.first_file.empty()) files = {{"first", result.first_file}, {"last", result.last_file}};
  json["files"] = std::move(files);
  json["manifest"] = timeline::to_json(result.manifest);
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::app
