// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What NCCL would run for a request on a cluster, in the runner's terms.
#include <string>

#include "orrery/collectives/select/selector.hpp"

namespace orrery::collectives {

struct NcclRun {
  std::string algorithm;
  std::string label;  ///< "nccl: ring LL128", with a word when the table does not cover the case.
  std::uint32_t pieces = 1;
  Duration launch{};
  Duration step_overhead{};
  double wire_scale = 1.0;
};

/// InputError when the cluster has no NCCL table.
[[nodiscard]] NcclRun choose_nccl_run(const CollectiveRequest& request, const SelectionContext& context);

}  // namespace orrery::collectives
