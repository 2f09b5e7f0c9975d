// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/load_cluster.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "orrery/topology/catalog.hpp"
#include "orrery/topology/cluster_file.hpp"
#include "orrery/topology/infragraph/infragraph.hpp"
#include "orrery/topology/placement.hpp"

namespace orrery::topology {
namespace {

Cluster from_generator(const Generator& generator, const std::string& text, const LoadOptions& options) {
  std::string head;
  const config::Document document = config::Document::from_line(text, options.source, head);
  const config::Cursor at{document};
  Draft draft = generator.build(at);
  for (DeviceSpec& device : draft.devices) {
    if (!device.name.empty()) device = Catalog{options.catalog}.device(device.name, at.at("device"));
  }
  const std::vector<std::uint32_t> order = order_ranks(draft, {}, all_endpoints(draft), at);
  return finish_cluster(std::move(draft), text, order);
}

Cluster from_file(const std::string& path, const LoadOptions& options) {
  const config::Document document = config::Document::load(path);
  const Catalog catalog{options.catalog};
  if (!is_infragraph(document)) return read_cluster(document, catalog, options.generators);
  InfraGraphOptions infragraph{.lenient = options.lenient};
  if (const std::string defaults = catalog.file_path("infragraph_links.yaml"); !defaults.empty()) {
    infragraph.link_defaults = read_link_defaults(config::Document::load(defaults));
  }
  return read_infragraph(document, infragraph);
}

[[noreturn]] void fail_unknown(const std::string& text, const LoadOptions& options) {
  std::vector<std::string> presets = Catalog{options.catalog}.cluster_names();
  const std::vector<std::string> generators = options.generators.names();
  std::vector<std::string> known = presets;
  known.insert(known.end(), generators.begin(), generators.end());
  const std::string head = text.substr(0, text.find(':'));
  throw InputError{
      {.source = options.source,
       .position = {},
       .field = {},
       .value = text,
       .expected = fmt::format("file not found, and no preset ({}) or generator ({}) of that name",
                               join(presets, ", "), join(generators, ", ")),
       .nearest = nearest_name(head, known)}};
}

}  // namespace

Cluster load_cluster(const std::string& text, const LoadOptions& options) {
  const std::string head{trim(std::string_view{text}.substr(0, text.find(':')))};
  const Generator* generator = options.generators.find(head);
  if (generator != nullptr && text.find(':') != std::string::npos) {
    return from_generator(*generator, text, options);
  }
  std::error_code ignored;
  if (std::filesystem::exists(text, ignored)) return from_file(text, options);
  if (generator != nullptr) return from_generator(*generator, text, options);
  if (const std::string preset = Catalog{options.catalog}.cluster_path(text); !preset.empty()) {
    return from_file(preset, options);
  }
  fail_unknown(text, options);
}

}  // namespace orrery::topology
