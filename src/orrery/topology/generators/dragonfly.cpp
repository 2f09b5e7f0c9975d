// SPDX-License-Identifier: Apache-2.0
// Dragonfly (Kim, Dally, Scott, Abts, ISCA 2008): groups of `a` fully connected routers with `p` hosts and
// `h` global ports each. Of the a*h global ports of a group, port t leads to the group t+1 places further on
// (modulo the number of groups), as often as the ports allow: once with the full a*h+1 groups.
#include <fmt/format.h>

#include "orrery/topology/generators/fields.hpp"
#include "orrery/topology/generators/generator.hpp"

namespace orrery::topology {
namespace {

struct DragonflySpec : CableFields, EndpointFields {
  std::int64_t a = 0;
  std::int64_t p = 0;
  std::int64_t h = 0;
  std::optional<std::int64_t> groups;
  std::optional<Bandwidth> global_bandwidth;
  std::optional<Duration> global_latency;
  template <class Visitor>
  static void fields(Visitor&& field) {
    using config::Rule;
    field("a", &DragonflySpec::a, "Routers of a group.", Rule{.required = true, .min = 1, .max = 4096});
    field("p", &DragonflySpec::p, "Hosts of a router.", Rule{.required = true, .min = 1, .max = 4096});
    field("h", &DragonflySpec::h, "Global ports of a router.", Rule{.required = true, .min = 1, .max = 4096});
    field("groups", &DragonflySpec::groups, "Number of groups; absent = a*h+1.",
          Rule{.min = 1, .max = 1 << 24});
    CableFields::fields(field);
    field("global_bandwidth", &DragonflySpec::global_bandwidth, "Between groups; absent = bandwidth.",
          Rule{.positive = true});
    field("global_latency", &DragonflySpec::global_latency, "Between groups; absent = latency.");
    EndpointFields::fields(field);
  }
};

void add_group(const DragonflySpec& spec, std::int64_t group, std::vector<NodeId>& routers, Draft& draft) {
  const std::string name = indexed("group", group);
  const std::size_t first = routers.size();
  for (std::int64_t router = 0; router < spec.a; ++router) {
    routers.push_back(draft.add(fmt::format("{}.router[{}]", name, router), NodeKind::kSwitch, name));
    for (std::int64_t port = 0; port < spec.p; ++port) {
      const std::int64_t host = (group * spec.a + router) * spec.p + port;
      spec.connect(draft, draft.add_endpoint(indexed("host", host), name), routers.back());
    }
  }
  for (std::size_t x = first; x < routers.size(); ++x) {
    for (std::size_t y = x + 1; y < routers.size(); ++y) spec.connect(draft, routers[x], routers[y]);
  }
}

Draft build(const DragonflySpec& spec, const config::Cursor& at) {
  const std::int64_t ports = spec.a * spec.h;
  const std::int64_t groups = spec.groups.value_or(ports + 1);
  if (groups > ports + 1) {
    at.at("groups").fail(
        fmt::format("expected at most {}: a*h = {} global ports reach no further group", ports + 1, ports));
  }
  const auto routers_total = static_cast<double>(groups) * static_cast<double>(spec.a);
  expect_size(at, routers_total * static_cast<double>(1 + spec.p),
              routers_total * (static_cast<double>(spec.p) + static_cast<double>(spec.a - 1) / 2 +
                               static_cast<double>(spec.h) / 2));

  Draft draft = spec.draft();
  std::vector<NodeId> routers;
  for (std::int64_t group = 0; group < groups; ++group) add_group(spec, group, routers, draft);
  if (groups == 1) return draft;

  const LinkSpec global{spec.global_bandwidth.value_or(spec.bandwidth),
                        spec.global_latency.value_or(spec.latency)};
  const std::int64_t copies = ports / (groups - 1);
  const auto router_at = [&](std::int64_t group, std::int64_t port) {
    return routers[static_cast<std::size_t>(group * spec.a + port / spec.h)];
  };
  for (std::int64_t copy = 0; copy < copies; ++copy) {
    for (std::int64_t from = 0; from < groups; ++from) {
      for (std::int64_t to = from + 1; to < groups; ++to) {
        const std::int64_t port = to - from - 1;  // Seen from the far side, the way on is the way round.
        const std::int64_t far_port = groups - 2 - port;
        draft.graph.connect(router_at(from, copy * (groups - 1) + port),
                            router_at(to, copy * (groups - 1) + far_port), global, spec.duplex == "half");
      }
    }
  }
  return draft;
}

}  // namespace

Generator dragonfly_generator() {
  return describe_generator<DragonflySpec>("dragonfly", "Groups of fully connected routers, fully connected.",
                                           build);
}

}  // namespace orrery::topology
