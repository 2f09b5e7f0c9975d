// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/infragraph/schema.hpp"

#include <array>
#include <cmath>
#include <unordered_set>

#include "orrery/base/check.hpp"
#include "orrery/base/text.hpp"

namespace orrery::topology::infragraph {
namespace {

using Word = std::string_view;

/// Reads each item of the list under `key`; an absent list is an empty one.
template <class Read>
auto read_list(const Field& parent, Word key, const Read& read) {
  std::vector<decltype(read(parent))> rows;
  if (const auto list = parent.find(key)) {
    rows.reserve(list->node().items.size());
    list->for_each_item([&](const Field& item) { rows.push_back(read(item)); });
  }
  return rows;
}

template <class Row>
void expect_distinct(const Reader& reader, const std::vector<Row>& rows, const std::string& list) {
  std::unordered_set<Word> seen;
  for (const Row& row : rows) {
    if (!seen.insert(row.name).second) {
      reader.fail(row.position, list, std::string{row.name}, "this name is used twice");
    }
  }
}

/// A dot separates the parts of a node's id, so nothing could refer to a name with one.
Word read_name(const Field& parent) {
  const Field field = parent.required("name");
  const Word name = field.text();
  if (name.find('.') != Word::npos) field.fail("a name must not contain '.'");
  return name;
}

Component read_component(const Field& field) {
  static constexpr std::array<Word, 8> kChoices{"custom", "device", "cpu",  "xpu",
                                                "nic",    "memory", "port", "switch"};
  static constexpr std::array<NodeKind, 8> kKinds{NodeKind::kOther,  NodeKind::kOther, NodeKind::kCpu,
                                                  NodeKind::kDevice, NodeKind::kNic,   NodeKind::kMemory,
                                                  NodeKind::kPort,   NodeKind::kSwitch};
  static constexpr std::array<Word, 12> kKeys{"name", "description", "count", "choice", "custom", "device",
                                              "cpu",  "xpu",         "nic",   "memory", "port",   "switch"};
  field.expect_keys(kKeys);
  Component component;
  component.position = field.node().position;
  component.name = read_name(field);
  component.count = field.required("count").count();
  const std::size_t choice = field.required("choice").word(kChoices);
  component.kind = kKinds[choice];
  component.is_device = kChoices[choice] == "device";
  return component;
}

struct Unit {
  Word name;
  double factor;  // To bits per second, or to picoseconds.
};
constexpr std::array<Unit, 3> kBandwidths{
    {{"gigabits_per_second", 1e9}, {"gigabytes_per_second", 8e9}, {"gigatransfers_per_second", 1e9}}};
constexpr std::array<Unit, 3> kLatencies{{{"ms", 1e9}, {"us", 1e6}, {"ns", 1e3}}};

struct Quantity {
  std::int64_t value = 0;
  Word unit;
};

/// {choice: unit, unit: number}. A choice without its number is what upstream leaves behind for "not set".
std::optional<Quantity> read_quantity(const Field& field, const std::array<Unit, 3>& units) {
  field.expect_keys(std::array<Word, 4>{"choice", units[0].name, units[1].name, units[2].name});
  const auto choice = field.find("choice");
  const Word chosen = choice ? choice->text("expected a unit") : Word{};
  for (const Unit& unit : units) {
    const auto number = field.find(unit.name);
    if (!number || (!chosen.empty() && chosen != unit.name)) continue;
    constexpr double kLargest = 9e18;
    const double scaled = parse_number(number->text("expected a number")).value_or(-1) * unit.factor;
    if (!(scaled >= 0 && scaled < kLargest)) {
      number->fail("expected a number that is not negative and not huge");
    }
    return Quantity{static_cast<std::int64_t>(std::llround(scaled)), unit.name};
  }
  return std::nullopt;
}

LinkRow read_link(const Field& field) {
  field.expect_keys(std::array<Word, 3>{"name", "description", "physical"});
  LinkRow link;
  link.position = field.node().position;
  link.name = field.required("name").text();
  const auto physical = field.find("physical");
  if (!physical) return link;
  physical->expect_keys(std::array<Word, 2>{"bandwidth", "latency"});
  if (const auto bandwidth = physical->find("bandwidth")) {
    if (const auto quantity = read_quantity(*bandwidth, kBandwidths)) {
      if (quantity->value == 0) bandwidth->fail("must be more than zero");
      link.bandwidth = Bandwidth::bits_per_second(quantity->value);
      link.is_per_lane = quantity->unit == kBandwidths[2].name;
    }
  }
  if (const auto latency = physical->find("latency")) {
    if (const auto quantity = read_quantity(*latency, kLatencies)) link.latency = Duration{quantity->value};
  }
  return link;
}

EdgeRow read_edge(const Field& field, Word owner_key, bool owner_required) {
  static constexpr std::array<Word, 4> kKeys{"ep1", "ep2", "scheme", "link"};
  static constexpr std::array<Word, 2> kSchemes{"one2one", "many2many"};
  field.expect_keys(kKeys);
  const auto read_endpoint = [&](Word key) {
    const Field end = field.required(key);
    end.expect_keys(std::array<Word, 2>{owner_key, "component"});
    const auto owner = owner_required ? std::optional{end.required(owner_key)} : end.find(owner_key);
    return Endpoint{.owner = owner ? owner->text() : Word{},
                    .component = end.required("component").text(),
                    .position = end.node().position};
  };
  EdgeRow edge;
  edge.position = field.node().position;
  edge.ep1 = read_endpoint("ep1");
  edge.ep2 = read_endpoint("ep2");
  edge.scheme = field.required("scheme").word(kSchemes) == 0 ? Scheme::kOneToOne : Scheme::kManyToMany;
  edge.link = field.required("link").text();
  return edge;
}

EdgeRow read_device_edge(const Field& field) { return read_edge(field, "device", false); }
EdgeRow read_infrastructure_edge(const Field& field) { return read_edge(field, "instance", true); }

Device read_device(const Field& field) {
  field.expect_keys(std::array<Word, 5>{"name", "description", "components", "links", "edges"});
  Device device;
  device.position = field.node().position;
  device.path = field.path();
  device.name = read_name(field);
  device.components = read_list(field, "components", read_component);
  device.links = read_list(field, "links", read_link);
  device.edges = read_list(field, "edges", read_device_edge);
  const std::string prefix = device.path.empty() ? "" : device.path + ".";
  expect_distinct(field.reader(), device.components, prefix + "components");
  expect_distinct(field.reader(), device.links, prefix + "links");
  return device;
}

Instance read_instance(const Field& field) {
  field.expect_keys(std::array<Word, 4>{"name", "description", "device", "count"});
  return {.name = read_name(field),
          .position = field.node().position,
          .device = field.required("device").text(),
          .count = field.required("count").count()};
}

Infrastructure read_infrastructure(const Field& field) {
  field.expect_keys(std::array<Word, 6>{"name", "description", "devices", "links", "instances", "edges"});
  Infrastructure result;
  result.path = field.path();
  if (const auto name = field.find("name")) result.name = name->text();
  result.devices = read_list(field, "devices", read_device);
  result.links = read_list(field, "links", read_link);
  result.instances = read_list(field, "instances", read_instance);
  result.edges = read_list(field, "edges", read_infrastructure_edge);
  expect_distinct(field.reader(), result.devices, "devices");
  expect_distinct(field.reader(), result.links, "links");
  expect_distinct(field.reader(), result.instances, "instances");
  return result;
}

}  // namespace

Infrastructure read_schema(const Reader& reader) {
  const Field root{reader, reader.document.root()};
  if (const auto inner = root.find("infrastructure")) {
    root.expect_keys(std::array<Word, 2>{"infrastructure", "annotations"});
    return read_infrastructure(*inner);
  }
  if (!root.find("components")) return read_infrastructure(root);
  // A device serialised by itself: one instance of it.
  Infrastructure result;
  result.devices.push_back(read_device(root));
  const Device& device = result.devices.front();
  result.name = device.name;
  result.instances.push_back(
      {.name = device.name, .position = device.position, .device = device.name, .count = 1});
  return result;
}

}  // namespace orrery::topology::infragraph
