// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Nodes of a trace to operations and back. docs/traces.md has the table.
#include <optional>
#include <string_view>

#include "orrery/chakra/node.hpp"
#include "orrery/chakra/node_source.hpp"
#include "orrery/workload/op.hpp"

namespace orrery::chakra {

/// Attributes that we add to those of Chakra where it has none.
inline constexpr std::string_view kDurationAttribute = "duration_ps";  ///< Instead of duration_micros.
inline constexpr std::string_view kRootAttribute = "root";             ///< Of a rooted collective.
inline constexpr std::string_view kSizesAttribute = "comm_sizes";      ///< Of an uneven collective.
inline constexpr std::string_view kScaleAttribute = "compute_scale";   ///< Of the device it was recorded on.
inline constexpr std::string_view kElementAttribute = "comm_element";  ///< Bytes of one, of a collective.
inline constexpr std::string_view kFloatingAttribute = "comm_floating";  ///< What the elements are.
inline constexpr std::string_view kDetachedAttribute = "detached";  ///< The rank's end does not wait for it.
/// Of computing after a wait; workload::Independent says what they mean.
inline constexpr std::string_view kIndependentAttribute = "independent_ps";
inline constexpr std::string_view kAgainAttribute = "again_ps";
inline constexpr std::string_view kIndependentWhatAttribute = "independent_what";
inline constexpr std::string_view kIndependentOfAttribute = "independent_of";
/// Of the file: as --streams of `orrery replay`.
inline constexpr std::string_view kStreamsAttribute = "orrery_streams";

/// `node`, just read from `from`, as an operation of `rank` (when that is known). InputError that names file, place,
/// node and attribute when one is missing or makes no sense.
void lower(const Node& node, const NodeSource& from, std::optional<workload::Rank> rank, workload::Op& op);

/// The operation as a node that lower() turns into the same again. `rank` is whose it is.
[[nodiscard]] Node to_node(const workload::Op& op, workload::Rank rank);

/// Chakra's number of a collective.
[[nodiscard]] std::int64_t comm_type_of(const workload::Op& op);

}  // namespace orrery::chakra
