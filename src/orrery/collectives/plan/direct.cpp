// SPDX-License-Identifier: Apache-2.0
// Everyone sends to everyone at once, first to its successor, so that no rank is the first target of all. One
// step per phase: least latency where all pairs have their own path (NVSwitch, full mesh), congestion where not.
// Bytes on the wire: reduce_scatter, all_gather (n-1)S, all_reduce (two-shot) 2(n-1)S, all_to_all all but the diagonal.
#include "orrery/collectives/plan/exchange_algorithm.hpp"

namespace orrery::collectives::plan {

Algorithm direct() {
  return exchange_algorithm("direct", "Everyone to everyone at once; one step per phase.", {.at_once = true});
}

}  // namespace orrery::collectives::plan
