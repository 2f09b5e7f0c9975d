// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/generate/schedule.hpp"

#include <algorithm>

namespace orrery::workload::generate {

std::vector<Pass> forward_only(std::int64_t micro_batches) {
  std::vector<Pass> passes;
  for (std::int64_t i = 0; i < micro_batches; ++i) passes.push_back({i, false});
  return passes;
}

std::vector<Pass> gpipe(std::int64_t micro_batches) {
  std::vector<Pass> passes = forward_only(micro_batches);
  for (std::int64_t i = 0; i < micro_batches; ++i) passes.push_back({i, true});
  return passes;
}

std::vector<Pass> one_forward_one_backward(std::int64_t stage, std::int64_t stages,
                                           std::int64_t micro_batches) {
  const std::int64_t ahead = std::min(stages - stage - 1, micro_batches);
  std::vector<Pass> passes = forward_only(ahead);
  for (std::int64_t i = 0; i < micro_batches; ++i) {
    if (i + ahead < micro_batches) passes.push_back({i + ahead, false});
    passes.push_back({i, true});
  }
  return passes;
}

double bubble_fraction(std::int64_t stages, std::int64_t micro_batches) {
  return static_cast<double>(stages - 1) / static_cast<double>(micro_batches + stages - 1);
}

}  // namespace orrery::workload::generate
