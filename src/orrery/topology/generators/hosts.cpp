// SPDX-License-Identifier: Apache-2.0
#include "orrery/topology/generators/hosts.hpp"

#include <fmt/format.h>

namespace orrery::topology {

void HostFields::check(const config::Cursor& at) const {
  const bool has_local = local_bandwidth.has_value() || local_latency.has_value();
  if (gpus_per_host == 1 && has_local) {
    at.fail(
        "local_bandwidth and local_latency describe links inside a host; they need gpus_per_host of 2 or "
        "more");
  }
  if (gpus_per_host > 1 && !local_bandwidth) at.fail("gpus_per_host of 2 or more needs local_bandwidth");
  if (gpus_per_host > 1 && !local_latency) at.fail("gpus_per_host of 2 or more needs local_latency");
}

NodeId HostFields::add_host(Draft& draft, std::int64_t index, const std::string& within) const {
  const std::string host = indexed("host", index);
  const std::string group = within.empty() ? host : fmt::format("{}/{}", within, host);
  if (gpus_per_host == 1) return draft.add_endpoint(host, within.empty() ? within : group);
  const std::size_t first = draft.endpoints.size();
  for (std::int64_t gpu = 0; gpu < gpus_per_host; ++gpu) {
    draft.add_endpoint(fmt::format("{}.gpu[{}]", host, gpu), group);
  }
  const NodeId local = draft.add(host + ".switch[0]", NodeKind::kSwitch, group);
  for (std::size_t i = first; i < draft.endpoints.size(); ++i) {
    draft.graph.connect(draft.endpoints[i], local, {*local_bandwidth, *local_latency});
  }
  return local;
}

}  // namespace orrery::topology
