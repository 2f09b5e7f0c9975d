// SPDX-License-Identifier: Apache-2.0
// What the executor says when ranks wait for ever.
#include <fmt/format.h>

#include <algorithm>

#include "orrery/base/text.hpp"
#include "orrery/workload/executor.hpp"

namespace orrery::workload {
namespace {

constexpr std::size_t kShownRanks = 8;
constexpr std::size_t kShownNodes = 16;

std::string ranks_text(const std::vector<Rank>& ranks) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < std::min(ranks.size(), kShownRanks); ++i) {
    words.push_back(fmt::format("{}", ranks[i]));
  }
  std::string text = fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", join(words, ", "));
  if (ranks.size() > kShownRanks) text += fmt::format(" and {} more", ranks.size() - kShownRanks);
  return text;
}

}  // namespace

/// "node 7 'gemm'": names are not kept, so the trace is read again up to it.
std::string Executor::node_text(Rank rank, std::uint64_t id) const {
  const std::unique_ptr<OpSource> source = setup_.workload.open(rank);
  Op op;
  while (source->next(op)) {
    if (op.id == id) return fmt::format("node {} '{}'", id, op.name);
    op.clear();
  }
  return fmt::format("node {}", id);
}

std::string Executor::obstacle_text(Rank rank, const RankProgram::Obstacle& obstacle) const {
  if (obstacle.cycle.empty()) {
    return fmt::format("rank {}: {} depends on node {}, which the trace does not have", rank,
                       node_text(rank, obstacle.waiting), obstacle.missing);
  }
  std::vector<std::string> nodes;
  for (std::size_t i = 0; i < std::min(obstacle.cycle.size(), kShownNodes); ++i) {
    nodes.push_back(node_text(rank, obstacle.cycle[i]));
  }
  if (obstacle.cycle.size() > kShownNodes) {
    nodes.push_back(fmt::format("({} more)", obstacle.cycle.size() - kShownNodes));
  }
  nodes.push_back(nodes.front());
  return fmt::format("rank {}: nodes depend on each other in a cycle: {}", rank, join(nodes, " -> "));
}

engine::Blocked Executor::blocked_text(Rank rank, Slot slot) const {
  const LoadedOp& op = ranks_[rank]->program.op(slot);
  engine::Blocked blocked{.who = fmt::format("rank {}", rank), .what = {}, .waits_on = {}};
  const Communication& what = communications_[op.detail];
  if (op.kind != OpKind::kCollective) {
    blocked.what = to_text(what);
    if (!op.is_moving) {
      blocked.what += op.kind == OpKind::kSend ? ": nobody receives it (yet)" : ": nobody sends it (yet)";
    }
    blocked.waits_on.push_back(fmt::format("rank {}", what.peer));
    return blocked;
  }
  const CollectiveBoard::Waiting waiting = collectives_.waiting(rank, slot, what.group);
  const ProcessGroup& group = groups_[what.group];
  blocked.what = fmt::format("{}, its collective #{}", to_text(what, to_text(group)), waiting.number);
  if (waiting.missing.empty()) return blocked;
  blocked.what += fmt::format(": {} did not call it", ranks_text(waiting.missing));
  for (const Rank missing : waiting.missing) blocked.waits_on.push_back(fmt::format("rank {}", missing));
  return blocked;
}

void Executor::report_blocked(std::vector<engine::Blocked>& blocked) const {
  // With more to read, the windows grow first; unless the network, asked before us, has stalled.
  const auto has_more = [](const auto& state) { return !state->program.is_exhausted(); };
  if (blocked.empty() && std::ranges::any_of(ranks_, has_more)) return;
  bool has_large_send = false;
  for (Rank rank = 0; rank < ranks_.size(); ++rank) {
    const RankState& state = *ranks_[rank];
    if (state.is_done) {
      continue;
    }
    for (const Slot slot : state.program.running()) {
      const LoadedOp& op = state.program.op(slot);
      if (op.detail == kNoSlot) continue;
      blocked.push_back(blocked_text(rank, slot));
      has_large_send = has_large_send || (op.kind == OpKind::kSend && !op.is_moving);
    }
    if (const auto obstacle = state.program.find_obstacle()) {
      blocked.push_back({fmt::format("rank {}", rank), obstacle_text(rank, *obstacle), {}});
    }
  }
  if (has_large_send) {
    blocked.push_back(
        {"hint", "a send above the eager limit waits for its receive; a larger limit lets it go", {}});
  }
}

}  // namespace orrery::workload
