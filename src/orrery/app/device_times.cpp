// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/device_times.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"
#include "orrery/device/families.hpp"
#include "orrery/device/read_table.hpp"
#include "orrery/live/device_images.hpp"
#include "orrery/topology/catalog.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::app {
namespace {

using Json = nlohmann::ordered_json;

[[noreturn]] void refuse(const std::string& source, const std::string& value, const std::string& expected,
                         const std::string& nearest = {}) {
  throw InputError{{.source = source,
                    .position = {},
                    .field = {},
                    .value = value,
                    .expected = expected,
                    .nearest = nearest}};
}

topology::DeviceSpec find_device(const DeviceOptions& options) {
  if (options.device.empty() == options.cluster.empty()) {
    refuse("device", options.device, "expected a device of the catalogue, or --cluster for its first rank's");
  }
  if (!options.cluster.empty()) {
    topology::LoadOptions load;
    load.source = "--cluster";
    const topology::Cluster cluster = topology::load_cluster(options.cluster, load);
    if (cluster.ranks.empty()) refuse("--cluster", options.cluster, "has no rank");
    return cluster.devices[cluster.device_of_rank.front()];
  }
  const topology::Catalog catalog;
  const std::vector<std::string> names = catalog.device_names();
  if (std::ranges::find(names, options.device) == names.end()) {
    refuse("device", options.device, fmt::format("no such device; the catalogue has: {}", join(names, ", ")),
           nearest_name(options.device, names));
  }
  const config::Document place = config::Document::parse(options.device, "device");
  return catalog.device(options.device, config::Cursor{place});
}

OperatorTime parse_question(const std::string& text) {
  const std::vector<std::string_view> words = split(text, ':');
  if (words.size() != 3) {
    refuse("operator", text, "expected NAME:DTYPE:SIZES, such as gemm:bf16:1x128x4096x4096");
  }
  OperatorTime asked;
  asked.name = words[0];
  const auto type = device::parse_type(words[1]);
  if (!type) {
    const std::vector<std::string> names{device::kTypeNames.begin(), device::kTypeNames.end()};
    refuse("operator", text, fmt::format("expected a type among: {}", join(names, ", ")),
           nearest_name(words[1], names));
  }
  const auto axes = device::parse_axes(words[2]);
  if (!axes) refuse("operator", text, "expected sizes such as 1x128x4096x4096");
  const auto count = device::axis_count(words[0]);
  if (count && *count != axes->count) {
    refuse("operator", text, fmt::format("expected {} sizes for {}", *count, words[0]));
  }
  asked.type = *type;
  asked.axes = *axes;
  return asked;
}

device::Cost cost_of(device::CostModel& model, const OperatorTime& asked) {
  device::Operator op;
  op.name = op.family = asked.name;
  op.kind = device::class_of(asked.name);
  op.type = asked.type;
  op.axes = asked.axes;
  op.work = device::family_work(op.family, op.axes, op.type);
  return model.cost(op);
}

}  // namespace

std::vector<double> DeviceTimes::errors() const {
  std::vector<double> errors;
  for (const OperatorTime& time : times) {
    if (!time.measured_ps) continue;
    errors.push_back(std::abs(static_cast<double>(time.cost.device_ps) / *time.measured_ps - 1));
  }
  std::ranges::sort(errors);
  return errors;
}

DeviceTimes time_operators(const DeviceOptions& options) {
  DeviceTimes result;
  result.device = find_device(options);
  if (!options.operators.empty()) result.device.operators = options.operators;
  device::CostModel model = live::cost_model_of(result.device, options.uses_tables);
  result.rates = model.rates();
  for (const device::Series& series : model.table().series()) result.profiled += series.points.size();
  for (const std::string& question : options.questions) result.times.push_back(parse_question(question));
  if (!options.check.empty()) {
    const device::OperatorTable known = device::read_table(options.check);
    for (const device::Series& series : known.series()) {
      for (const device::Point& point : series.points) {
        result.times.push_back({.name = series.name,
                                .type = series.type,
                                .axes = point.axes,
                                .cost = {},
                                .measured_ps = point.duration_ps});
      }
    }
  }
  for (OperatorTime& time : result.times) time.cost = cost_of(model, time);
  return result;
}

std::string axes_text(const device::Axes& axes) {
  std::string text;
  for (std::size_t i = 0; i < axes.count; ++i) text += fmt::format("{}{}", i == 0 ? "" : "x", axes[i]);
  return text;
}

const char* source_text(device::CostSource source) {
  switch (source) {
    case device::CostSource::kTable:
      return "table";
    case device::CostSource::kExtrapolated:
      return "extrapolated";
    default:
      return "roofline";
  }
}

std::string to_json(const DeviceTimes& times) {
  Json peaks = Json::object();
  for (std::size_t i = 0; i < device::kDataTypes; ++i) {
    peaks[std::string{device::kTypeNames[i]}] = times.rates.peak[i];
  }
  Json rows = Json::array();
  for (const OperatorTime& time : times.times) {
    Json row{{"operator", time.name},
             {"dtype", device::kTypeNames[static_cast<std::size_t>(time.type)]},
             {"sizes", axes_text(time.axes)},
             {"time_ps", time.cost.device_ps},
             {"source", source_text(time.cost.source)}};
    if (time.measured_ps) row["measured_ps"] = *time.measured_ps;
    rows.push_back(std::move(row));
  }
  const Json json{{"device", times.device.name},
                  {"peaks", peaks},
                  {"memory_bandwidth", times.rates.bandwidth},
                  {"memory", times.rates.memory},
                  {"launch_overhead_ps", times.rates.launch_ps},
                  {"host_overhead_ps", times.rates.host_ps},
                  {"asynchronous", times.rates.is_asynchronous},
                  {"profiled_points", times.profiled},
                  {"operators", rows}};
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace orrery::app
