// SPDX-License-Identifier: Apache-2.0
#include <nlohmann/json.hpp>

#include "orrery/app/explain.hpp"

namespace orrery::app {
namespace {

using Json = nlohmann::ordered_json;

double share(std::int64_t part, std::int64_t whole) {
  return whole == 0 ? 0 : static_cast<double>(part) / static_cast<double>(whole);
}

Json share_json(const PathShare& part, std::int64_t total) {
  Json json{{"kind", to_text(part.kind)}};
  if (!part.site.empty()) json["site"] = part.site;
  json["time_ps"] = count_ps(part.time);
  json["share"] = share(count_ps(part.time), total);
  json["steps"] = part.steps;
  return json;
}

Json step_json(const PathStep& step) {
  return {{"kind", to_text(step.kind)},  {"site", step.site}, {"rank", step.rank},
          {"from_rank", step.from_rank}, {"node", step.id},   {"begin_ps", count_ps(step.begin)},
          {"end_ps", count_ps(step.end)}};
}

Json path_json(const ExplainResult& result) {
  Json kinds = Json::array();
  for (const PathShare& part : result.path.kinds) kinds.push_back(share_json(part, result.total_ps));
  Json sites = Json::array();
  for (const PathShare& part : result.path.sites) sites.push_back(share_json(part, result.total_ps));
  Json steps = Json::array();
  for (const PathStep& step : result.path.steps) steps.push_back(step_json(step));
  return {{"kinds", std::move(kinds)},
          {"sites", std::move(sites)},
          {"all_steps", result.path_steps},
          {"steps", std::move(steps)}};
}

Json exposed_json(const ExposedSite& site, const ExplainResult& result) {
  return {{"site", result.sites[site.site]},
          {"calls", site.calls},
          {"ranks", site.ranks},
          {"worst_rank", site.worst_rank},
          {"exposed_ps", count_ps(site.worst.exposed())},
          {"waiting_ps", count_ps(site.worst.waiting)},
          {"transfer_ps", count_ps(site.worst.transfer)},
          {"hidden_ps", count_ps(site.worst.hidden)},
          {"share", share(count_ps(site.worst.exposed()), result.total_ps)},
          {"mean_waiting_ps", count_ps(site.mean(&ExposedTime::waiting))},
          {"mean_transfer_ps", count_ps(site.mean(&ExposedTime::transfer))},
          {"mean_hidden_ps", count_ps(site.mean(&ExposedTime::hidden))}};
}

Json overlap_site_json(const OverlapSite& site, const ExplainResult& result) {
  Json json{{"site", result.sites[site.site]},
            {"total_ps", nullptr},
            {"saved_ps", nullptr},
            {"share", nullptr},
            {"at_most_ps", nullptr},
            {"independent_ps", count_ps(site.independent)},
            {"again_ps", count_ps(site.again)},
            {"work", Json::array()},
            {"reason", site.reason.empty() ? Json{} : Json(site.reason)}};
  if (site.total_ps) {
    json["total_ps"] = *site.total_ps;
    json["saved_ps"] = result.total_ps - *site.total_ps;
    json["share"] = share(result.total_ps - *site.total_ps, result.total_ps);
  }
  if (site.at_most_ps) json["at_most_ps"] = *site.at_most_ps;
  for (const IndependentWork& work : site.work) {
    json["work"].push_back({{"what", work.what}, {"time_ps", count_ps(work.time)}});
  }
  return json;
}

Json overlap_json(const ExplainResult& result) {
  Json sites = Json::array();
  for (const OverlapSite& site : result.overlap.sites) sites.push_back(overlap_site_json(site, result));
  Json together;
  if (const auto total = result.overlap.together_ps) {
    together = {{"total_ps", *total},
                {"saved_ps", result.total_ps - *total},
                {"share", share(result.total_ps - *total, result.total_ps)}};
  }
  return {{"dataflow", result.overlap.has_dataflow},
          {"sites", std::move(sites)},
          {"together", std::move(together)}};
}

}  // namespace

std::string to_json(const ExplainResult& result) {
  Json exposed = Json::array();
  for (const ExposedSite& site : result.exposed) exposed.push_back(exposed_json(site, result));
  // Nothing of this hour or machine: the same trace gives the same bytes.
  const Json json{{"total_ps", result.total_ps},
                  {"workload", result.workload},
                  {"cluster", result.cluster},
                  {"network", result.network},
                  {"algorithm", result.algorithm},
                  {"compute", result.compute},
                  {"ranks", result.ranks},
                  {"operations", result.operations},
                  {"critical_path", path_json(result)},
                  {"exposed", std::move(exposed)},
                  {"overlap", overlap_json(result)},
                  {"notes", result.notes},
                  {"manifest", timeline::to_json(result.manifest)}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::app
