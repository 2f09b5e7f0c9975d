// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What torch's ProcessGroupGloo runs for each operation. Sources: docs/models/collectives.md.
#include <string>

#include "orrery/collectives/algorithm.hpp"

namespace orrery::collectives {

struct GlooPlan {
  Operation operation = Operation::kAllReduce;  ///< What is really run: a reduce_scatter is an all_reduce.
  std::string algorithm;
  std::uint32_t pieces = 1;
  std::uint32_t window = 0;
};

/// `size` is the whole buffer as in CollectiveRequest.
[[nodiscard]] GlooPlan gloo_plan(Operation operation, Rank ranks, Bytes size, bool is_uneven = false);

}  // namespace orrery::collectives
