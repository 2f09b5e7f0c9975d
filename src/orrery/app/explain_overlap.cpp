// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/explain_overlap.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "orrery/app/explain_move.hpp"
#include "orrery/base/error.hpp"

namespace orrery::app {
namespace {

using workload::Op;
using workload::Rank;

/// What the trace says of each site.
std::vector<OverlapSite> independent_work(const ExplainGraph& graph) {
  std::vector<OverlapSite> sites(graph.sites().size());
  std::vector<std::map<std::string, Duration>> work(sites.size());
  for (Rank rank = 0; rank < graph.ranks(); ++rank) {
    std::map<std::uint32_t, workload::Independent> mine;
    for (const Op& op : graph.ops(rank)) {
      if (!op.independent) continue;
      const std::uint32_t site = graph.site({rank, *graph.find(rank, op.independent->of)});
      mine[site].time += op.independent->time;
      mine[site].again += op.independent->again;
      if (op.independent->time > Duration{}) work[site][op.independent->what] += op.independent->time;
    }
    for (const auto& [site, sum] : mine) {
      if (sum.time <= sites[site].independent) continue;
      sites[site].most_rank = rank;
      sites[site].independent = sum.time;
      sites[site].again = sum.again;
    }
  }
  for (std::uint32_t i = 0; i < sites.size(); ++i) {
    sites[i].site = i;
    for (const auto& [what, time] : work[i]) sites[i].work.push_back({what, time});
    std::ranges::stable_sort(sites[i].work, std::greater{}, &IndependentWork::time);
  }
  return sites;
}

class Trial {
 public:
  explicit Trial(const OverlapSetup& setup)
      : setup_{setup}, graph_{setup.causes.graph()}, before_{setup.causes.run().total_ps}, moves_{graph_} {}

  void decide(OverlapSite& site, const ExposedSite& exposed, std::size_t place) const {
    if (exposed.worst.exposed() == Duration{}) {
      site.reason = "not exposed: nobody waits for it with nothing to compute";
      return;
    }
    if (place >= setup_.most) {
      site.reason = "not tried: others are exposed longer";
      return;
    }
    try {
      const std::int64_t freed = setup_.runner.run(moves_.freed(site.site)).total_ps;
      site.at_most_ps = std::max<std::int64_t>(0, before_ - freed);
      move(site);
    } catch (const SimulationError& error) {
      // Moved waits may let ranks call the collectives of a group in different orders.
      site.reason = fmt::format("cannot be moved: {}", error.what());
    }
  }

  [[nodiscard]] std::optional<std::int64_t> together(const std::vector<OverlapSite>& sites) const {
    std::vector<bool> is_moved(sites.size(), false);
    std::size_t count = 0;
    for (const OverlapSite& site : sites) {
      if (!site.reason.empty()) continue;
      is_moved[site.site] = true;
      ++count;
    }
    if (count == 0) return std::nullopt;
    try {
      return setup_.runner.run(moves_.moved(is_moved)).total_ps;
    } catch (const SimulationError&) {
      return std::nullopt;  // Each goes alone; together they do not.
    }
  }

 private:
  void move(OverlapSite& site) const {
    if (!graph_.has_dataflow()) {
      site.reason = "not known: the trace does not say what computing is independent of it";
    } else if (site.independent == Duration{}) {
      site.reason = "nothing independent: all computing that follows needs it";
    } else if (!setup_.is_as_recorded) {
      site.reason = "not tried: computing does not take its recorded time";
    }
    if (!site.reason.empty()) return;
    std::vector<bool> is_moved(graph_.sites().size(), false);
    is_moved[site.site] = true;
    site.total_ps = setup_.runner.run(moves_.moved(is_moved)).total_ps;
    const std::int64_t saved = before_ - *site.total_ps;
    site.at_most_ps = std::max(*site.at_most_ps, saved);
    if (saved <= 0) site.reason = "no gain: the run takes as long with its waits moved, or longer";
  }

  const OverlapSetup& setup_;
  const ExplainGraph& graph_;
  std::int64_t before_;
  ExplainMoves moves_;
};

}  // namespace

Overlap find_overlap(const OverlapSetup& setup) {
  const ExplainGraph& graph = setup.causes.graph();
  const std::int64_t before = setup.causes.run().total_ps;
  const Trial trial{setup};
  std::vector<OverlapSite> known = independent_work(graph);
  Overlap overlap{.has_dataflow = graph.has_dataflow()};
  for (std::size_t place = 0; place < setup.exposed.size(); ++place) {
    OverlapSite& site = overlap.sites.emplace_back(std::move(known[setup.exposed[place].site]));
    trial.decide(site, setup.exposed[place], place);
  }
  overlap.together_ps = trial.together(overlap.sites);
  std::ranges::stable_sort(overlap.sites, std::greater{}, [&](const OverlapSite& site) {
    const std::int64_t saved = site.reason.empty() ? before - *site.total_ps : 0;
    return std::pair{saved, site.at_most_ps.value_or(-1)};
  });
  return overlap;
}

}  // namespace orrery::app
