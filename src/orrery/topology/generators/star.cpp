// SPDX-License-Identifier: Apache-2.0
// Star: every host hangs off one switch by its own cable, so a path is two links and the latency between two
// hosts is twice `latency`.
#include "orrery/topology/generators/fields.hpp"
#include "orrery/topology/generators/generator.hpp"

namespace orrery::topology {
namespace {

struct StarSpec : CableFields, EndpointFields {
  std::int64_t hosts = 0;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("hosts", &StarSpec::hosts, kHostsHelp, hosts_rule(1));
    CableFields::fields(field);
    EndpointFields::fields(field);
  }
};

Draft build(const StarSpec& spec, const config::Cursor& at) {
  expect_size(at, static_cast<double>(spec.hosts) + 1, static_cast<double>(spec.hosts));
  Draft draft = spec.draft();
  for (std::int64_t host = 0; host < spec.hosts; ++host) draft.add_endpoint(indexed("host", host));
  const NodeId center = draft.add("switch[0]", NodeKind::kSwitch);
  for (const NodeId host : draft.endpoints) spec.connect(draft, host, center);
  return draft;
}

}  // namespace

Generator star_generator() {
  return describe_generator<StarSpec>("star", "Hosts around one switch; values are per link, a path is two.",
                                      build);
}

}  // namespace orrery::topology
