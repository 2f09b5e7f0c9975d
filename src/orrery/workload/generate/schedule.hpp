// SPDX-License-Identifier: Apache-2.0
#pragma once
/// In which order a pipeline stage passes micro-batches forward and backward.
///   gpipe  all forward, then all backward (Huang et al. 2019)
///   1f1b   a stage with s stages after it starts with s forward passes, then one forward and one backward in turn,
///          then the backward passes that are left (Narayanan et al. 2019, 2021)
/// With equal stages both leave (p - 1) / (m + p - 1) of the time idle; 1f1b holds fewer activations.
#include <cstdint>
#include <vector>

namespace orrery::workload::generate {

struct Pass {
  std::int64_t micro_batch = 0;
  bool is_backward = false;
  bool operator==(const Pass&) const = default;
};

[[nodiscard]] std::vector<Pass> forward_only(std::int64_t micro_batches);
[[nodiscard]] std::vector<Pass> gpipe(std::int64_t micro_batches);
[[nodiscard]] std::vector<Pass> one_forward_one_backward(std::int64_t stage, std::int64_t stages,
                                                         std::int64_t micro_batches);
/// (p - 1) / (m + p - 1).
[[nodiscard]] double bubble_fraction(std::int64_t stages, std::int64_t micro_batches);

}  // namespace orrery::workload::generate
