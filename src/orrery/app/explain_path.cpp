// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/explain_path.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "orrery/base/check.hpp"

namespace orrery::app {
namespace {

using workload::Op;
using workload::OpKind;
using workload::Rank;

StepKind kind_of(const Op& op) {
  if (is_communication(op)) return StepKind::kCommunication;
  if (op.kind == OpKind::kLoad || op.kind == OpKind::kStore) return StepKind::kMemory;
  return op.recorded_scale == 0 ? StepKind::kPause : StepKind::kCompute;
}

std::string site_of(const ExplainGraph& graph, OpPlace at) {
  if (const std::uint32_t site = graph.site(at); site != ExplainGraph::kNoSite) return graph.sites()[site];
  const Op& op = graph.op(at);
  return fmt::format("{} of rank {}", op.name.empty() ? "compute" : op.name, at.rank);
}

/// Walks back; steps come in the order of the walk.
class Walk {
 public:
  explicit Walk(const ExplainCauses& causes) : causes_{causes}, graph_{causes.graph()}, run_{causes.run()} {}

  std::vector<PathStep> steps() {
    std::optional<OpPlace> at = last();
    while (at) at = before(*at);
    std::ranges::reverse(steps_);
    return std::move(steps_);
  }

 private:
  /// The operation that the total is the end of.
  [[nodiscard]] std::optional<OpPlace> last() const {
    for (Rank rank = 0; rank < graph_.ranks(); ++rank) {
      const std::optional<OpPlace> at = causes_.last_of(rank);
      if (at && count_ps(run_.of(*at).end) == run_.total_ps) return at;
    }
    ORRERY_CHECK(run_.total_ps == 0, "no operation ends at the end");
    return std::nullopt;
  }

  /// Writes the step down that ended with `at`, and says what came before it.
  std::optional<OpPlace> before(OpPlace at) {
    const Op& op = graph_.op(at);
    const OpPlace from = is_communication(op) ? causes_.last_to_come(at) : at;
    const Time begin = run_.of(from).begin;
    add({.kind = kind_of(op),
         .site = {},
         .rank = at.rank,
         .from_rank = from.rank,
         .id = op.id,
         .begin = begin,
         .end = run_.of(at).end},
        at);
    if (const auto cause = causes_.released_by(from)) return cause;
    if (begin == Time{}) return std::nullopt;
    // It was read late: operations are read ahead up to a window. Whatever ended last made room for it.
    const std::optional<OpPlace> earlier = causes_.last_before(from);
    add({.kind = StepKind::kIdle,
         .site = "idle",
         .rank = from.rank,
         .from_rank = from.rank,
         .id = graph_.op(from).id,
         .begin = earlier ? run_.of(*earlier).end : Time{},
         .end = begin},
        from);
    return earlier;
  }

  void add(PathStep step, OpPlace at) {
    if (step.begin == step.end) return;
    if (step.site.empty()) step.site = site_of(graph_, at);
    steps_.push_back(std::move(step));
  }

  const ExplainCauses& causes_;
  const ExplainGraph& graph_;
  const ExplainRun& run_;
  std::vector<PathStep> steps_;
};

template <class KeyOf>
std::vector<PathShare> summed(const std::vector<PathStep>& steps, KeyOf key_of) {
  std::map<std::pair<StepKind, std::string>, PathShare> sums;
  for (const PathStep& step : steps) {
    PathShare& share = sums[{step.kind, key_of(step)}];
    share.time += step.end - step.begin;
    ++share.steps;
  }
  std::vector<PathShare> shares;
  for (auto& [key, share] : sums) {
    share.kind = key.first;
    share.site = key.second;
    shares.push_back(std::move(share));
  }
  std::ranges::stable_sort(shares, std::greater{}, &PathShare::time);
  return shares;
}

}  // namespace

std::string_view to_text(StepKind kind) {
  switch (kind) {
    case StepKind::kCompute:
      return "compute";
    case StepKind::kPause:
      return "pause";
    case StepKind::kCommunication:
      return "communication";
    case StepKind::kMemory:
      return "memory";
    case StepKind::kIdle:
      break;
  }
  return "idle";
}

CriticalPath critical_path(const ExplainCauses& causes) {
  CriticalPath path;
  path.steps = Walk{causes}.steps();
  path.kinds = summed(path.steps, [](const PathStep&) { return std::string{}; });
  path.sites = summed(path.steps, [](const PathStep& step) { return step.site; });
  Duration sum{};
  for (const PathShare& share : path.kinds) sum += share.time;
  ORRERY_CHECK(count_ps(sum) == causes.run().total_ps, "the critical path has {} ps of {}", count_ps(sum),
               causes.run().total_ps);
  return path;
}

}  // namespace orrery::app
