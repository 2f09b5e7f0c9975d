// SPDX-License-Identifier: Apache-2.0
// Switch: one crossbar described from the outside, as data sheets and measurements do. `bandwidth` is per
// port and direction, `latency` is from device to device through the crossbar; each of the two links of a
// path carries half of it. (A star states the latency of one cable instead.)
#include "orrery/topology/generators/fields.hpp"
#include "orrery/topology/generators/generator.hpp"

namespace orrery::topology {
namespace {

struct SwitchSpec : EndpointFields {
  std::int64_t hosts = 0;
  Bandwidth bandwidth;
  Duration latency{};
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("hosts", &SwitchSpec::hosts, kHostsHelp, hosts_rule(1));
    field("bandwidth", &SwitchSpec::bandwidth, "Of each port, per direction.",
          config::Rule{.required = true, .positive = true});
    field("latency", &SwitchSpec::latency, "From device to device, through the switch.",
          config::Rule{.required = true});
    EndpointFields::fields(field);
  }
};

Draft build(const SwitchSpec& spec, const config::Cursor& at) {
  expect_size(at, static_cast<double>(spec.hosts) + 1, static_cast<double>(spec.hosts));
  Draft draft = spec.draft();
  for (std::int64_t host = 0; host < spec.hosts; ++host) draft.add_endpoint(indexed("host", host));
  const NodeId crossbar = draft.add("switch[0]", NodeKind::kSwitch);
  // An odd number of picoseconds stays exact: the way out takes the smaller half, the way in the larger.
  const Duration out = spec.latency / 2;
  const Duration in = spec.latency - out;
  for (const NodeId host : draft.endpoints) {
    const LinkId up = draft.graph.connect(host, crossbar, {spec.bandwidth, out});
    draft.graph.set_link(LinkId{up.index() + 1}, {spec.bandwidth, in});
  }
  return draft;
}

}  // namespace

Generator switch_generator() {
  return describe_generator<SwitchSpec>("switch",
                                        "One crossbar; bandwidth per port, latency from end to end.", build);
}

}  // namespace orrery::topology
