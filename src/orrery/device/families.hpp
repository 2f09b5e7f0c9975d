// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Families of operators whose work follows from a few sizes. Standard library only.
///
///   gemm                    batch, m, n, k
///   attention, _causal      batch, heads, key heads, queries, keys, width of a head
///     ... _backward         likewise
///   everything else         one size (elements), two (rows, columns), or (tensors, elements) of lists
///
/// "gemm@block" is a variant: other kernels for the same work, with points of their own in a table.
#include <optional>
#include <string_view>

#include "orrery/device/operator.hpp"

namespace orrery::device {

/// How many axes points of `family` have; nothing when it is not one of the above.
[[nodiscard]] std::optional<std::uint32_t> axis_count(std::string_view family);

/// 2 * batch * m * n * k, and each matrix moved once.
[[nodiscard]] Work gemm_work(const Axes& axes, DataType type);

/// Two products per pair of a query and a key it sees; queries, keys, values and results moved once. Backward: five
/// products, as the scores are computed again, and twice the bytes. Queries see the keys up to their own place,
/// counted from the end when there are more keys than queries.
[[nodiscard]] Work attention_work(const Axes& axes, DataType type, bool is_causal, bool is_backward);

/// Of a point of a table: as above, or elements read and written once.
[[nodiscard]] Work family_work(std::string_view name, const Axes& axes, DataType type);

}  // namespace orrery::device
