// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/generate/cost.hpp"

#include <algorithm>

#include "orrery/base/error.hpp"

namespace orrery::workload::generate {
namespace {

/// Below 2^61, so that a backward pass still fits in 63 bits.
void expect_fits(double value) {
  constexpr double kMost = 2.3e18;
  if (value > kMost) {
    throw InputError{
        "make: one operator of one micro-batch would need more than 2e18 operations or bytes; "
        "expected a smaller micro_batch or seq, or higher degrees"};
  }
}

}  // namespace

Work operator+(Work a, Work b) { return {a.flops + b.flops, a.bytes + b.bytes}; }

Work backward(Work forward) { return {2 * forward.flops, 2 * forward.bytes}; }

Work product(std::int64_t rows, std::int64_t inner, std::int64_t columns, std::int64_t element,
             std::int64_t copies) {
  expect_fits(2.0 * static_cast<double>(rows) * static_cast<double>(inner) * static_cast<double>(columns));
  expect_fits(static_cast<double>(copies) * static_cast<double>(inner) * static_cast<double>(columns) * 4);
  const std::int64_t values = rows * inner + copies * inner * columns + rows * columns;
  return {2 * static_cast<std::uint64_t>(rows * inner * columns), values * element};
}

Work attention(std::int64_t pairs, std::int64_t queries, std::int64_t keys, std::int64_t width,
               std::int64_t kv_width, std::int64_t element) {
  expect_fits(4.0 * static_cast<double>(pairs) * static_cast<double>(width));
  expect_fits(8.0 * static_cast<double>(queries + keys) * static_cast<double>(width));
  return {4 * static_cast<std::uint64_t>(pairs * width),
          (2 * queries * width + 2 * keys * kv_width) * element};
}

Work move(std::int64_t bytes) { return {0, bytes}; }

std::int64_t ring_pairs(const Recipe& recipe, std::int64_t step) {
  const std::int64_t part = recipe.seq / recipe.cp;
  if (!recipe.is_causal) return part * part;
  if (recipe.cp == 1) return part * (part + 1) / 2;
  const std::int64_t half = part / 2;
  // Own keys: each half sees itself up to the diagonal, and the later one all of the earlier one.
  return 2 * half * half + (step == 0 ? half : 0);
}

std::int64_t all_pairs(const Recipe& recipe) {
  std::int64_t pairs = 0;
  for (std::int64_t step = 0; step < recipe.cp; ++step) pairs += ring_pairs(recipe, step);
  return pairs;
}

Duration roofline(Work work, const topology::DeviceSpec& device) {
  const Duration computing =
      ceil_to_duration(static_cast<double>(work.flops) / device.peak.per_second * 1e12);
  return std::max(computing, transfer_time(Bytes{work.bytes}, device.memory_bandwidth));
}

}  // namespace orrery::workload::generate
