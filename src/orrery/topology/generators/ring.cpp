// SPDX-License-Identifier: Apache-2.0
// Ring: host i is cabled to host i+1, the last to the first. Two hosts share one cable, not two.
#include "orrery/topology/generators/fields.hpp"
#include "orrery/topology/generators/generator.hpp"

namespace orrery::topology {
namespace {

struct RingSpec : CableFields, EndpointFields {
  std::int64_t hosts = 0;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("hosts", &RingSpec::hosts, kHostsHelp, hosts_rule(2));
    CableFields::fields(field);
    EndpointFields::fields(field);
  }
};

Draft build(const RingSpec& spec, const config::Cursor& at) {
  expect_size(at, static_cast<double>(spec.hosts), static_cast<double>(spec.hosts));
  Draft draft = spec.draft();
  for (std::int64_t host = 0; host < spec.hosts; ++host) draft.add_endpoint(indexed("host", host));
  const std::size_t cables = spec.hosts == 2 ? 1 : draft.endpoints.size();
  for (std::size_t i = 0; i < cables; ++i) {
    spec.connect(draft, draft.endpoints[i], draft.endpoints[(i + 1) % draft.endpoints.size()]);
  }
  return draft;
}

}  // namespace

Generator ring_generator() {
  return describe_generator<RingSpec>("ring", "Hosts in a circle, each cabled to the next.", build);
}

}  // namespace orrery::topology
