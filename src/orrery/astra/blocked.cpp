// SPDX-License-Identifier: Apache-2.0
// Who waits on whom when nothing is left to happen. ASTRA-sim ends such a run with exit code 0.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "orrery/astra/custom_run.hpp"
#include "orrery/astra/machine.hpp"
#include "orrery/base/text.hpp"

namespace orrery::astra {
namespace {

/// What came and nobody took, for whoever waits for something else from the same source.
std::string describe_strays(const std::vector<const Channel*>& channels, const ChannelKey& wanted) {
  for (const Channel* channel : channels) {
    const ChannelKey& key = channel->key;
    if (channel->early == 0 || key.target != wanted.target || key.source != wanted.source) continue;
    if (key.tag == wanted.tag) {
      return fmt::format(" (a message of {} bytes with that tag is there)", key.size);
    }
  }
  return "";
}

}  // namespace

void Machine::report_blocked(std::vector<engine::Blocked>& blocked) const {
  std::vector<engine::Blocked> waiting(ranks_.size());
  std::vector<std::set<std::uint32_t>> sources(ranks_.size());
  std::vector<const Channel*> channels = channels_.open_channels();
  std::ranges::sort(channels, [](const Channel* a, const Channel* b) {
    return std::tuple{a->key.target, a->key.source, a->key.tag, a->key.size} <
           std::tuple{b->key.target, b->key.source, b->key.tag, b->key.size};
  });
  for (const Channel* channel : channels) {
    const std::uint32_t rank = channel->key.target;
    if (!channel->has_waiting || folding_ != nullptr || sources[rank].contains(channel->key.source)) continue;
    sources[rank].insert(channel->key.source);
    if (sources[rank].size() > 4) continue;
    waiting[rank].what +=
        fmt::format("; a receive of {} bytes from rank {}, tag {}{}", channel->key.size, channel->key.source,
                    channel->key.tag, describe_strays(channels, channel->key));
    waiting[rank].waits_on.push_back(fmt::format("rank {}", channel->key.source));
  }
  for (std::uint32_t rank = 0; rank < ranks_.size(); ++rank) {
    if (ranks_[rank].is_finished) continue;
    engine::Blocked entry = describe_rank(rank);
    entry.what += waiting[rank].what;
    entry.waits_on = std::move(waiting[rank].waits_on);
    blocked.push_back(std::move(entry));
  }
  explain_numbers(blocked);
}

/// Chunks are paired by their number on each rank, and those of groups count too.
void Machine::explain_numbers(std::vector<engine::Blocked>& blocked) const {
  if (groups_.all().empty() || blocked.empty()) return;
  std::uint32_t other = 0;
  while (other < ranks_.size() && ranks_[other].chunks == ranks_[0].chunks) ++other;
  if (other == ranks_.size()) return;
  blocked[0].what += fmt::format(
      "; rank 0 has begun {} chunks and rank {} {}: ASTRA-sim pairs the chunks of collectives over all ranks "
      "by that "
      "number, in which those of groups count",
      ranks_[0].chunks, other, ranks_[other].chunks);
}

std::string Machine::describe_step(std::uint32_t rank, Step step) const {
  step.id += ranks_[rank].first_id;
  return describe(step);
}

engine::Blocked Machine::describe_rank(std::uint32_t rank) const {
  const RankState& state = ranks_[rank];
  std::vector<std::string> open;
  for (std::uint32_t i = 0; i < state.open.size(); ++i) {
    if (open.size() < 3) open.push_back(describe_step(rank, state.trace->steps[state.open[i]]));
  }
  if (state.open.size() > 3) open.push_back(fmt::format("{} more", state.open.size() - 3));
  std::size_t queued = 0;
  for (const Queue& queue : state.queues) {
    for (std::uint32_t at = queue.first_waiting; at != kNone; at = chunks_[at].next) ++queued;
  }
  std::string what = join(open, ", ");
  if (queued > 0) {
    what += fmt::format(
        "; {} chunks wait for others of their dimension to finish (active-chunks-per-dimension {})", queued,
        system_.active_chunks);
  }
  return {.who = fmt::format("rank {}", rank), .what = std::move(what), .waits_on = {}};
}

}  // namespace orrery::astra
