// SPDX-License-Identifier: Apache-2.0
// Who waits for what, in words.
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>
#include <utility>

#include "orrery/base/text.hpp"
#include "orrery/live/operation_text.hpp"
#include "orrery/live/service.hpp"

namespace orrery::live {

const char* LiveService::state(std::uint32_t rank) const {
  switch (ranks_[rank].waits) {
    case Waits::kNothing:
      return "computing";
    case Waits::kOperation:
    case Waits::kPoll:
      return "communicating";
    case Waits::kSleep:
      return "sleeping";
    case Waits::kStore:
      return "in the store";
    case Waits::kOver:
      return "done";
  }
  return "";
}

/// Threads that compute meanwhile get a moment to come to it.
bool LiveService::has_thread_in_line(std::uint32_t rank) const {
  const std::atomic<std::uint32_t>& in_line = setup_.arena.page(rank).threads_in_line;
  constexpr auto kMoment = std::chrono::milliseconds{100};
  if (in_line.load() == 0 && !std::exchange(has_given_a_moment_, true)) std::this_thread::sleep_for(kMoment);
  return in_line.load() > 0;
}

void LiveService::describe(engine::ProcessId process, engine::Blocked& blocked) const {
  const Rank& rank = ranks_[process.index()];
  if (rank.waits == Waits::kStore) {
    blocked.what = stores_.describe(process.value());
    return;
  }
  std::vector<std::string> texts;
  std::vector<std::uint32_t> parties;
  const auto named = [&](std::uint32_t party) {
    const Rank& other = ranks_[party];
    if (other.waits != Waits::kOver) return rank_name(party);
    return fmt::format("{} (ended at {})", rank_name(party),
                       orrery::to_text(other.times.finish.time_since_epoch()));
  };
  for (const std::uint64_t handle : rank.handles) {
    const auto found = rank.open.find(handle);
    if (found == rank.open.end()) continue;
    const orrery_op& op = setup_.arena.get<orrery_op>(found->second);
    const Group& group = *groups_.at(op.group);
    texts.push_back(to_text(op, group));
    if (op.kind == ORRERY_SEND || op.kind == ORRERY_RECEIVE) {
      if (op.peer >= 0) parties.push_back(group.ranks[static_cast<std::size_t>(op.peer)]);
      continue;
    }
    for (const std::uint32_t missing : collectives_.missing(group, op)) parties.push_back(missing);
  }
  blocked.what = join(texts, " or ");
  for (const std::uint32_t party : parties) {
    blocked.what += (blocked.waits_on.empty() ? "; not there: " : ", ") + named(party);
    blocked.waits_on.push_back(rank_name(party));
  }
  if (has_thread_in_line(process.value())) {
    blocked.what += "; another thread of it wants to use the network, too, and one at a time can here";
  }
}

}  // namespace orrery::live
