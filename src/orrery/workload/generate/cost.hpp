// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What operators cost, per rank: floating-point operations (two per multiply-add, matrix products only) and bytes that
/// are read and written once. docs/trace-make.md derives each.
#include <cstdint>

#include "orrery/base/units.hpp"
#include "orrery/workload/generate/recipe.hpp"

namespace orrery::workload::generate {

struct Work {
  std::uint64_t flops = 0;
  std::int64_t bytes = 0;
  bool operator==(const Work&) const = default;
};
[[nodiscard]] Work operator+(Work a, Work b);
/// The backward pass of a matrix product is two products of the same size.
[[nodiscard]] Work backward(Work forward);

/// [rows, inner] times [inner, columns]; `copies` matrices of weights are read (experts that share the rows).
[[nodiscard]] Work product(std::int64_t rows, std::int64_t inner, std::int64_t columns, std::int64_t element,
                           std::int64_t copies = 1);
/// Scores and weighted values of `pairs` pairs of a query and a key on `width` = heads * head_dim of this rank.
[[nodiscard]] Work attention(std::int64_t pairs, std::int64_t queries, std::int64_t keys, std::int64_t width,
                             std::int64_t kv_width, std::int64_t element);
/// Only moves bytes.
[[nodiscard]] Work move(std::int64_t bytes);

/// Pairs of a query and a key of one sequence that a context-parallel rank computes with the keys it gets in ring step
/// `step`. Step 0 is its own keys. With a causal mask the sequence is cut in 2 * cp parts and rank i has parts i and
/// 2 * cp - 1 - i, so that all ranks have the same work.
[[nodiscard]] std::int64_t ring_pairs(const Recipe& recipe, std::int64_t step);
/// Of all steps.
[[nodiscard]] std::int64_t all_pairs(const Recipe& recipe);

/// max(flops / peak, bytes / bandwidth), rounded up.
[[nodiscard]] Duration roofline(Work work, const topology::DeviceSpec& device);

}  // namespace orrery::workload::generate
