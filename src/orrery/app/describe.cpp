// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/describe.hpp"

#include <fmt/format.h>

#include <map>
#include <nlohmann/json.hpp>

#include "orrery/app/cluster_report.hpp"
#include "orrery/app/element_type.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/collectives/select/selector.hpp"
#include "orrery/network/network_model.hpp"
#include "orrery/topology/catalog.hpp"
#include "orrery/topology/generators/generator.hpp"
#include "orrery/workload/generate/make_spec.hpp"

namespace orrery::app {
namespace {

using collectives::Operation;
using Json = nlohmann::ordered_json;

std::string selection_help(const std::string& word) {
  static const std::map<std::string, std::string> kHelp{
      {"all", "Every algorithm that can do the operation on this group."},
      {"auto", "Simulates all that can and marks the fastest of each size."},
      {"gloo", "What torch's ProcessGroupGloo runs."},
      {"nccl", "What NCCL would choose on the cluster's platform, from a table fitted to measurements."},
  };
  const auto found = kHelp.find(word);
  return found == kHelp.end() ? std::string{} : found->second;
}

void add_algorithms(std::vector<Description>& all) {
  const collectives::AlgorithmRegistry registry = collectives::builtin_algorithms();
  for (const collectives::Algorithm& algorithm : registry.all()) {
    Description entry{.kind = "algorithm", .name = algorithm.name, .help = algorithm.help};
    for (const Operation operation : algorithm.operations) entry.operations.emplace_back(to_text(operation));
    all.push_back(std::move(entry));
  }
}

/// `operations` of every algorithm, turned round.
void add_operations(std::vector<Description>& all) {
  for (std::size_t i = 0; i < collectives::kOperationCount; ++i) {
    const std::string name{to_text(static_cast<Operation>(i))};
    std::vector<std::string> able;
    for (const Description& entry : all) {
      if (std::ranges::find(entry.operations, name) != entry.operations.end()) able.push_back(entry.name);
    }
    all.push_back({.kind = "operation", .name = name, .help = "Algorithms: " + join(able, ", ") + "."});
  }
}

}  // namespace

std::vector<Description> describe() {
  std::vector<Description> all;
  const network::NetworkRegistry networks = network::builtin_networks();
  for (const network::NetworkRegistry::Entry& entry : networks.all()) {
    all.push_back({.kind = "network", .name = entry.name, .help = entry.help, .fields = entry.fields});
  }
  add_algorithms(all);
  for (const std::string& word : collectives::selection_words()) {
    all.push_back({.kind = "selection", .name = word, .help = selection_help(word)});
  }
  const topology::GeneratorRegistry generators = topology::builtin_generators();
  for (const topology::Generator& generator : generators.all()) {
    all.push_back(
        {.kind = "generator", .name = generator.name, .help = generator.help, .fields = generator.fields});
  }
  for (const Preset& preset : list_presets()) {
    all.push_back({.kind = "cluster",
                   .name = preset.name,
                   .help = fmt::format("{} ({} ranks).", preset.description, preset.ranks)});
  }
  for (const std::string& device : topology::Catalog{}.device_names()) {
    all.push_back({.kind = "device", .name = device, .help = "Device of the catalogue."});
  }
  for (const std::string& model : topology::Catalog{}.model_names()) {
    const std::string path = topology::Catalog{}.model_path(model);
    const config::Document document = config::Document::load(path);
    all.push_back(
        {.kind = "model",
         .name = model,
         .help = config::read_spec<workload::generate::ModelSpec>(config::Cursor{document}).description});
  }
  all.push_back({.kind = "workload",
                 .name = "make",
                 .help = "Steps of a transformer, without a trace.",
                 .fields = config::describe_spec<workload::generate::MakeSpec>()});
  add_operations(all);
  for (const ElementType& type : element_types()) {
    all.push_back({.kind = "dtype",
                   .name = type.name,
                   .help = fmt::format("{}, {}.", to_text(type.size),
                                       type.is_floating ? "floating point" : "integer")});
  }
  return all;
}

std::vector<Description> describe(const std::string& name) {
  std::vector<Description> found;
  std::vector<std::string> names;
  for (Description& entry : describe()) {
    names.push_back(entry.name);
    if (entry.name == name || entry.kind == name) found.push_back(std::move(entry));
  }
  if (!found.empty()) return found;
  throw InputError{{.source = {},
                    .position = {},
                    .field = {},
                    .value = name,
                    .expected = "nothing of that name; 'orrery describe' lists everything",
                    .nearest = nearest_name(name, names)}};
}

std::string to_json(const std::vector<Description>& descriptions) {
  Json entries = Json::array();
  for (const Description& entry : descriptions) {
    Json json{{"kind", entry.kind}, {"name", entry.name}, {"help", entry.help}};
    Json fields = Json::array();
    for (const config::FieldDoc& field : entry.fields) {
      fields.push_back({{"name", field.name},
                        {"type", field.type},
                        {"required", field.required},
                        {"default", field.required ? Json(nullptr) : Json(field.default_value)},
                        {"help", field.help}});
    }
    json["fields"] = std::move(fields);
    if (entry.kind == "algorithm") json["operations"] = entry.operations;
    entries.push_back(std::move(json));
  }
  return Json{{"entries", std::move(entries)}}.dump(2) + "\n";
}

}  // namespace orrery::app
