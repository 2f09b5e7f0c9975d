// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/explain_cause.hpp"

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>

namespace orrery::app {
namespace {

using workload::Op;
using workload::OpKind;
using workload::Rank;

constexpr std::uint32_t kNoMeeting = ~std::uint32_t{0};

/// What meets: the n-th collective of a group, the n-th message from one rank to another with a tag.
using MeetingKey = std::tuple<bool, std::string, Rank, Rank, std::int64_t, std::uint64_t>;

MeetingKey key_of(const Op& op, Rank rank) {
  if (op.kind == OpKind::kCollective) return {false, op.group, 0, 0, 0, 0};
  if (op.kind == OpKind::kSend) return {true, {}, rank, op.peer, op.tag, 0};
  return {true, {}, op.peer, rank, op.tag, 0};
}

}  // namespace

ExplainCauses::ExplainCauses(const ExplainGraph& graph, const ExplainRun& run, Bytes eager_limit)
    : graph_{graph}, run_{run}, eager_limit_{eager_limit} {
  match();
  sort_ends();
}

void ExplainCauses::match() {
  std::map<MeetingKey, std::uint32_t> known;
  meeting_of_.resize(graph_.ranks());
  for (Rank rank = 0; rank < graph_.ranks(); ++rank) {
    const std::vector<Op>& ops = graph_.ops(rank);
    meeting_of_[rank].assign(ops.size(), kNoMeeting);
    std::vector<std::uint32_t> posted;
    for (std::uint32_t i = 0; i < ops.size(); ++i) {
      if (is_communication(ops[i])) posted.push_back(i);
    }
    std::ranges::sort(posted, {}, [&](std::uint32_t i) { return run_.of({rank, i}).began; });
    std::map<std::pair<OpKind, MeetingKey>, std::uint64_t> counts;  // A rank may send to itself.
    for (const std::uint32_t i : posted) {
      MeetingKey key = key_of(ops[i], rank);
      std::get<5>(key) = counts[{ops[i].kind, key}]++;
      const auto [found, is_new] = known.emplace(key, static_cast<std::uint32_t>(meetings_.size()));
      if (is_new) meetings_.emplace_back();
      meetings_[found->second].push_back({rank, i});
      meeting_of_[rank][i] = found->second;
    }
  }
  for (std::vector<OpPlace>& meeting : meetings_) {
    std::ranges::sort(meeting, {}, [&](OpPlace at) { return run_.of(at).began; });
  }
}

void ExplainCauses::sort_ends() {
  by_end_.resize(graph_.ranks());
  for (Rank rank = 0; rank < graph_.ranks(); ++rank) {
    by_end_[rank].resize(graph_.ops(rank).size());
    std::iota(by_end_[rank].begin(), by_end_[rank].end(), 0U);
    std::ranges::sort(by_end_[rank], {}, [&](std::uint32_t i) { return run_.of({rank, i}).ended; });
  }
}

std::optional<OpPlace> ExplainCauses::released_by_dependency(OpPlace at) const {
  const Op& op = graph_.op(at);
  const Time begin = run_.of(at).begin;
  std::optional<OpPlace> latest;
  for (const auto* list : {&op.data_deps, &op.control_deps}) {
    for (const std::uint64_t dep : *list) {
      const std::optional<std::uint32_t> found = graph_.find(at.rank, dep);
      if (!found) continue;
      const OpPlace place{at.rank, *found};
      if (run_.of(place).end != begin) continue;
      if (!latest || run_.of(place).ended > run_.of(*latest).ended) latest = place;
    }
  }
  return latest;
}

std::optional<OpPlace> ExplainCauses::released_by(OpPlace at) const {
  if (const auto dependency = released_by_dependency(at)) return dependency;
  const OpTimes& mine = run_.of(at);
  const std::vector<std::uint32_t>& ends = by_end_[at.rank];
  const auto ended = [&](std::uint32_t i) { return run_.of({at.rank, i}).ended; };
  auto next = std::ranges::lower_bound(ends, mine.began, {}, ended);
  std::optional<OpPlace> any;
  while (next != ends.begin()) {
    const OpPlace place{at.rank, *--next};
    const OpTimes& times = run_.of(place);
    if (times.end != mine.begin) break;
    if (times.resource == mine.resource && times.resource != workload::Resource::kNothing) return place;
    if (!any) any = place;
  }
  return any;
}

OpPlace ExplainCauses::last_to_come(OpPlace at) const {
  const Op& op = graph_.op(at);
  // A small message is through when it has arrived, whether or not anybody takes it.
  if (op.kind == OpKind::kSend && op.size <= eager_limit_) return at;
  const std::vector<OpPlace>& meeting = meetings_[meeting_of_[at.rank][at.index]];
  const auto began = [&](OpPlace place) { return run_.of(place).began; };
  // Whoever came after its end cannot have mattered; it came itself before.
  const auto after = std::ranges::lower_bound(meeting, run_.of(at).ended, {}, began);
  return *(after - 1);
}

std::optional<OpPlace> ExplainCauses::last_before(OpPlace at) const {
  std::optional<OpPlace> latest;
  for (Rank rank = 0; rank < graph_.ranks(); ++rank) {
    const std::vector<std::uint32_t>& ends = by_end_[rank];
    const auto ended = [&](std::uint32_t i) { return run_.of({rank, i}).ended; };
    const auto next = std::ranges::lower_bound(ends, run_.of(at).began, {}, ended);
    if (next == ends.begin()) continue;
    const OpPlace place{rank, *(next - 1)};
    if (!latest || run_.of(place).ended > run_.of(*latest).ended) latest = place;
  }
  return latest;
}

std::optional<OpPlace> ExplainCauses::last_of(Rank rank) const {
  const std::vector<std::uint32_t>& ends = by_end_[rank];
  for (auto at = ends.rbegin(); at != ends.rend(); ++at) {
    if (!graph_.ops(rank)[*at].is_detached) return OpPlace{rank, *at};
  }
  return std::nullopt;
}

}  // namespace orrery::app
