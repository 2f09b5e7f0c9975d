// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/agreement.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/text.hpp"
#include "orrery/base/units.hpp"
#include "orrery/live/operation_text.hpp"

namespace orrery::live {
namespace {

bool is_rooted(std::uint32_t kind) {
  return kind == ORRERY_BROADCAST || kind == ORRERY_REDUCE || kind == ORRERY_GATHER || kind == ORRERY_SCATTER;
}
bool is_reduction(std::uint32_t kind) {
  return kind == ORRERY_ALL_REDUCE || kind == ORRERY_REDUCE || kind == ORRERY_REDUCE_SCATTER;
}
bool is_barrier(std::uint32_t kind) { return kind == ORRERY_BARRIER || kind == ORRERY_MONITORED_BARRIER; }

/// What `op` of member `mine` and `other` of member `theirs` disagree on; "" when on nothing.
std::string disagreement(const orrery_op& op, std::uint32_t mine, const orrery_op& other,
                         std::uint32_t theirs, std::uint32_t members) {
  if (op.kind != other.kind) return "operation";
  if (is_barrier(op.kind)) return {};
  if (op.dtype != other.dtype) return "type of elements";
  if (is_rooted(op.kind) && op.peer != other.peer) return "root";
  if (is_reduction(op.kind) && op.reduction != other.reduction) return "reduction";
  const std::int64_t* const here = sizes_of(op);
  const std::int64_t* const there = sizes_of(other);
  switch (op.kind) {
    case ORRERY_ALL_GATHER:
    case ORRERY_REDUCE_SCATTER:
      return std::equal(here, here + members, there) ? "" : "size";
    case ORRERY_ALL_TO_ALL:
      return here[theirs] == there[members + mine] && there[mine] == here[members + theirs] ? "" : "size";
    case ORRERY_GATHER:
    case ORRERY_SCATTER:
      // The root knows what it expects of each.
      if (op.peer == static_cast<std::int32_t>(mine)) return here[1 + theirs] == there[0] ? "" : "size";
      if (op.peer == static_cast<std::int32_t>(theirs)) return there[1 + mine] == here[0] ? "" : "size";
      return {};
    default:
      return here[0] == there[0] ? "" : "size";
  }
}

}  // namespace

void check_agreement(const Arena& arena, const Group& group, const std::vector<std::int64_t>& operations,
                     std::uint32_t member, const orrery_op& op) {
  for (std::uint32_t other = 0; other < operations.size(); ++other) {
    if (operations[other] == 0) continue;
    const auto& called = arena.get<orrery_op>(operations[other]);
    const std::string what = disagreement(op, member, called, other, group.size());
    if (what.empty()) continue;
    std::vector<std::string> lines{
        fmt::format("collective #{} of {}: the ranks disagree on the {}", op.sequence, to_text(group), what)};
    for (std::uint32_t i = 0; i < operations.size(); ++i) {
      if (i == member) {
        lines.push_back(fmt::format("  {}: {}", group.names[i], to_text(op, group)));
      } else if (operations[i] != 0) {
        lines.push_back(
            fmt::format("  {}: {}", group.names[i], to_text(arena.get<orrery_op>(operations[i]), group)));
      }
    }
    throw SimulationError{join(lines, "\n")};
  }
}

}  // namespace orrery::live
