// SPDX-License-Identifier: Apache-2.0
// The only file that names concrete collective algorithms.
#include "orrery/collectives/algorithm.hpp"

namespace orrery::collectives {

namespace plan {
#define ORRERY_COLLECTIVE_ALGORITHM(name) Algorithm name();
#include "orrery/collectives/plan/algorithms.def"
#undef ORRERY_COLLECTIVE_ALGORITHM
}  // namespace plan

AlgorithmRegistry builtin_algorithms() {
  AlgorithmRegistry registry;
#define ORRERY_COLLECTIVE_ALGORITHM(name) registry.add(plan::name());
#include "orrery/collectives/plan/algorithms.def"
#undef ORRERY_COLLECTIVE_ALGORITHM
  return registry;
}

}  // namespace orrery::collectives
