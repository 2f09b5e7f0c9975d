// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/explain_exposure.hpp"

#include <algorithm>

namespace orrery::app {
namespace {

using workload::Op;
using workload::OpKind;
using workload::Rank;

struct Interval {
  Time begin{};
  Time end{};
  OpPlace first{};  ///< The operation that it begins with.
};

/// When the rank computed, host or device, pauses included: intervals that do not touch.
std::vector<Interval> busy_intervals(const ExplainCauses& causes, Rank rank) {
  const std::vector<Op>& ops = causes.graph().ops(rank);
  std::vector<OpPlace> computing;
  for (std::uint32_t i = 0; i < ops.size(); ++i) {
    const OpTimes& times = causes.run().of({rank, i});
    if (ops[i].kind == OpKind::kCompute && times.begin < times.end) computing.push_back({rank, i});
  }
  std::ranges::sort(computing, {}, [&](OpPlace at) { return causes.run().of(at).began; });
  std::vector<Interval> busy;
  for (const OpPlace at : computing) {
    const OpTimes& times = causes.run().of(at);
    if (busy.empty() || times.begin > busy.back().end) {
      busy.push_back({times.begin, times.end, at});
    } else {
      busy.back().end = std::max(busy.back().end, times.end);
    }
  }
  return busy;
}

/// What one rank has of each site.
class RankExposure {
 public:
  RankExposure(const ExplainCauses& causes, Rank rank)
      : causes_{causes},
        rank_{rank},
        busy_{busy_intervals(causes, rank)},
        times_(causes.graph().sites().size()),
        calls_(times_.size(), 0) {
    Duration sum{};
    for (const Interval& interval : busy_) {
      computed_before_.push_back(sum);
      sum += interval.end - interval.begin;
    }
    find_exposed();
    find_hidden();
  }
  [[nodiscard]] const ExposedTime& times(std::size_t site) const { return times_[site]; }
  [[nodiscard]] std::uint64_t calls(std::size_t site) const { return calls_[site]; }

 private:
  void find_exposed() {
    Time stopped{};
    for (const Interval& interval : busy_) {
      if (interval.begin > stopped) follow(causes_.released_by(interval.first), stopped);
      stopped = interval.end;
    }
    const std::optional<OpPlace> last = causes_.last_of(rank_);
    if (last && causes_.run().of(*last).end > stopped) follow(last, stopped);
  }

  /// From an operation that ended a gap back to where the gap began.
  void follow(std::optional<OpPlace> at, Time stopped) {
    for (; at && causes_.run().of(*at).end > stopped; at = causes_.released_by(*at)) {
      const std::uint32_t site = causes_.graph().site(*at);
      if (site == ExplainGraph::kNoSite) continue;
      const OpTimes& mine = causes_.run().of(*at);
      const Time from = std::max(mine.begin, stopped);
      const Time all_there = std::max(causes_.run().of(causes_.last_to_come(*at)).begin, from);
      times_[site].waiting += all_there - from;
      times_[site].transfer += mine.end - all_there;
    }
  }

  void find_hidden() {
    const std::size_t count = causes_.graph().ops(rank_).size();
    for (std::uint32_t i = 0; i < count; ++i) {
      const OpPlace at{rank_, i};
      const std::uint32_t site = causes_.graph().site(at);
      if (site == ExplainGraph::kNoSite) continue;
      ++calls_[site];
      const OpTimes& mine = causes_.run().of(at);
      const Time from = std::max(mine.begin, causes_.run().of(causes_.last_to_come(at)).begin);
      times_[site].hidden += computed_until(mine.end) - computed_until(from);
    }
  }

  [[nodiscard]] Duration computed_until(Time time) const {
    const auto after = std::ranges::upper_bound(busy_, time, {}, &Interval::begin);
    if (after == busy_.begin()) return Duration{};
    const auto last = static_cast<std::size_t>(after - busy_.begin()) - 1;
    return computed_before_[last] + (std::min(time, busy_[last].end) - busy_[last].begin);
  }

  const ExplainCauses& causes_;
  Rank rank_;
  std::vector<Interval> busy_;
  std::vector<Duration> computed_before_;  // By interval.
  std::vector<ExposedTime> times_;         // By site.
  std::vector<std::uint64_t> calls_;
};

}  // namespace

std::vector<ExposedSite> exposed_sites(const ExplainCauses& causes) {
  std::vector<ExposedSite> sites(causes.graph().sites().size());
  for (std::size_t i = 0; i < sites.size(); ++i) sites[i].site = static_cast<std::uint32_t>(i);
  for (Rank rank = 0; rank < causes.graph().ranks(); ++rank) {
    const RankExposure one{causes, rank};
    for (std::size_t i = 0; i < sites.size(); ++i) {
      if (one.calls(i) == 0) continue;
      ExposedSite& site = sites[i];
      const ExposedTime& times = one.times(i);
      if (site.ranks == 0 || times.exposed() > site.worst.exposed()) {
        site.worst_rank = rank;
        site.worst = times;
      }
      ++site.ranks;
      site.calls = std::max(site.calls, one.calls(i));
      site.sum.waiting += times.waiting;
      site.sum.transfer += times.transfer;
      site.sum.hidden += times.hidden;
    }
  }
  std::ranges::stable_sort(sites, std::greater{},
                           [](const ExposedSite& site) { return site.worst.exposed(); });
  return sites;
}

}  // namespace orrery::app
