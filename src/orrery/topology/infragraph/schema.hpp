// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The objects of an InfraGraph file as they stand in it, nothing expanded. Texts point into the document,
/// which outlives them; `position` says where to point a later error.
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/topology/graph.hpp"
#include "orrery/topology/infragraph/field.hpp"

namespace orrery::topology::infragraph {

struct Component {
  std::string_view name;
  Position position;
  std::uint32_t count = 0;
  bool is_device = false;  ///< Stands for `count` devices whose name is the component's.
  NodeKind kind = NodeKind::kOther;
};

struct LinkRow {
  std::string_view name;
  Position position;
  std::optional<Bandwidth> bandwidth;
  std::optional<Duration> latency;
  bool is_per_lane = false;  ///< Given in transfers per second: `bandwidth` is that of one lane.
};

/// One end of an edge: "xpu[0:8]" of a device, or "host[0]" and "nic[1]" of the infrastructure.
struct Endpoint {
  std::string_view owner;  ///< `device` (may be empty) or `instance`.
  std::string_view component;
  Position position;
};

enum class Scheme : std::uint8_t { kOneToOne, kManyToMany };

struct EdgeRow {
  Endpoint ep1;
  Endpoint ep2;
  Scheme scheme = Scheme::kOneToOne;
  std::string_view link;
  Position position;
};

struct Device {
  std::string_view name;
  Position position;
  std::string path;  ///< "devices[2]", for messages.
  std::vector<Component> components;
  std::vector<LinkRow> links;
  std::vector<EdgeRow> edges;
};

struct Instance {
  std::string_view name;
  Position position;
  std::string_view device;
  std::uint32_t count = 0;
};

struct Infrastructure {
  std::string_view name;
  std::string path;  ///< "" or, inside the {infrastructure, annotations} form, "infrastructure".
  std::vector<Device> devices;
  std::vector<LinkRow> links;
  std::vector<Instance> instances;
  std::vector<EdgeRow> edges;
};

/// InputError on what upstream refuses, on the superseded format and on names used twice; in strict mode also
/// on unknown keys.
[[nodiscard]] Infrastructure read_schema(const Reader& reader);

}  // namespace orrery::topology::infragraph
