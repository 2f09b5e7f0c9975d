// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Operations in words, for reports.
#include <string>

#include "orrery/live/group.hpp"
#include "orrery/live/protocol.hpp"

namespace orrery::live {

/// torch's name of an element type: "float32".
[[nodiscard]] std::string dtype_name(std::uint32_t dtype);
[[nodiscard]] bool is_floating(std::uint32_t dtype);
/// "sum", "max", ...
[[nodiscard]] std::string reduction_name(std::uint32_t reduction);
/// Bytes of the whole buffer, as nccl-tests counts them.
[[nodiscard]] std::int64_t total_bytes(const orrery_op& op);
/// "all_reduce #12 of the default group: 4 MiB float32, sum, at train.py:31".
[[nodiscard]] std::string to_text(const orrery_op& op, const Group& group);
/// The operation's sizes, as the rank wrote them.
[[nodiscard]] const std::int64_t* sizes_of(const orrery_op& op);
[[nodiscard]] bool is_collective(const orrery_op& op);

/// "rank 3".
[[nodiscard]] std::string rank_name(std::uint32_t rank);

}  // namespace orrery::live
