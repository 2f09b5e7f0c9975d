// SPDX-License-Identifier: Apache-2.0
// Fully connected: one cable between every two hosts, as between the GPUs of an MI300X host.
#include "orrery/topology/generators/fields.hpp"
#include "orrery/topology/generators/generator.hpp"

namespace orrery::topology {
namespace {

struct FullSpec : CableFields, EndpointFields {
  std::int64_t hosts = 0;
  template <class Visitor>
  static void fields(Visitor&& field) {
    field("hosts", &FullSpec::hosts, kHostsHelp, hosts_rule(2));
    CableFields::fields(field);
    EndpointFields::fields(field);
  }
};

Draft build(const FullSpec& spec, const config::Cursor& at) {
  const auto hosts = static_cast<double>(spec.hosts);
  expect_size(at, hosts, hosts * (hosts - 1) / 2);
  Draft draft = spec.draft();
  for (std::int64_t host = 0; host < spec.hosts; ++host) draft.add_endpoint(indexed("host", host));
  for (std::size_t a = 0; a < draft.endpoints.size(); ++a) {
    for (std::size_t b = a + 1; b < draft.endpoints.size(); ++b) {
      spec.connect(draft, draft.endpoints[a], draft.endpoints[b]);
    }
  }
  return draft;
}

}  // namespace

Generator fully_connected_generator() {
  return describe_generator<FullSpec>("fully_connected", "A cable between every two hosts.", build);
}

}  // namespace orrery::topology
