// SPDX-License-Identifier: Apache-2.0
#include "orrery/astra/simulate.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "orrery/astra/custom_run.hpp"
#include "orrery/astra/machine.hpp"
#include "orrery/base/digest.hpp"
#include "orrery/engine/engine.hpp"

namespace orrery::astra {
namespace {

void check_network(const Inputs& inputs) {
  const std::vector<Dimension>& dims = inputs.network.dims;
  const auto fail = [&](const std::string& reason) {
    throw InputError{fmt::format("{}: {}", inputs.network.source, reason)};
  };
  if (inputs.is_aware && dims.size() > 1) {
    fail(fmt::format(
        "the congestion-aware network has one dimension, not {}; take the unaware one, or --network flow "
        "for contention on the real graph",
        dims.size()));
  }
  if (inputs.is_aware && dims[0].shape == Shape::kRing && dims[0].size == 2) {
    fail("a ring of 2 NPUs aborts the congestion-aware network; FullyConnected is the same");
  }
  for (std::size_t i = 0; i < kCollectives; ++i) {
    if (inputs.system.choices[i].size() > dims.size()) {
      fail(fmt::format("{} dimensions, but {}-implementation of {} has {} entries", dims.size(),
                       to_text(static_cast<Collective>(i)), inputs.system.source,
                       inputs.system.choices[i].size()));
    }
  }
  if (inputs.queues_per_dim < 1) throw InputError{"num-queues-per-dim: expected 1 or more"};
}

/// What the numbers rest on that a reader would not expect.
void warn_of_artefacts(const Inputs& inputs, const Traces& traces, Warnings& warnings) {
  const SystemSettings& system = inputs.system;
  std::vector<bool> used(kCollectives, false);
  for (const auto& trace : traces.ranks) {
    for (const Step& step : trace->steps) {
      if (step.kind == OpKind::kCollective && !step.is_broadcast) {
        used[static_cast<std::size_t>(step.collective)] = true;
      }
    }
    if (traces.are_equal) break;
  }
  if (std::ranges::find(used, true) == used.end()) return;
  bool is_direct = false;
  for (std::size_t i = 0; i < kCollectives; ++i) {
    for (const Choice& choice : system.choices[i]) {
      is_direct = is_direct || (used[i] && choice.algorithm == Algorithm::kDirect && choice.window != 1);
    }
  }
  if (!inputs.is_aware && (is_direct || system.active_chunks > 1)) {
    warnings.push_back(
        fmt::format("the congestion-unaware network shares nothing: messages sent at once (by {}) each "
                    "have a link's full bandwidth",
                    is_direct ? "direct algorithms" : "several active chunks"));
  }
  if (!system.has_policy) {
    warnings.push_back(fmt::format(
        "{}: 'scheduling-policy' is not given; ASTRA-sim leaves it undefined, we take LIFO", system.source));
  }
  const bool reduces_in_dims =
      used[static_cast<std::size_t>(Collective::kAllReduce)] && inputs.network.dims.size() > 1;
  if (!system.has_optimization && reduces_in_dims) {
    warnings.push_back(fmt::format(
        "{}: 'collective-optimization' is not given; ASTRA-sim leaves it undefined, we take baseline",
        system.source));
  }
  const bool reduces = used[static_cast<std::size_t>(Collective::kAllReduce)] ||
                       used[static_cast<std::size_t>(Collective::kReduceScatter)];
  if (reduces && system.memory_bandwidth <= 0) {
    warnings.push_back(fmt::format("{}: without 'local-mem-bw' reductions take no time", system.source));
  }
}

/// One run. TieFound when `folding` cannot be held up.
void run_once(const Inputs& inputs, const Traces& traces, const Groups& groups, const Folding* folding,
              Outcome& outcome) {
  Warnings warnings = outcome.warnings;
  engine::Engine engine;
  if (inputs.wants_stop) engine.set_interrupt(&inputs.wants_stop);
  Machine machine{inputs, traces, groups, folding, engine, warnings};
  machine.start();
  engine.run();
  const auto npus = inputs.network.npus();
  outcome.simulated = folding != nullptr ? 1 : npus;
  outcome.events = machine.events();
  for (std::uint32_t rank = 0; rank < npus; ++rank) {
    outcome.ranks.push_back(machine.times(folding != nullptr ? 0 : rank));
  }
  const bool wraps = std::ranges::any_of(
      outcome.ranks, [](const RankTimes& rank) { return rank.exposed_cycles > rank.cycles; });
  if (wraps) {
    warnings.push_back(
        "replay-only counts communication as compute: exposed cycles below 0 are huge numbers, as in "
        "ASTRA-sim");
  }
  if (machine.crosses_dimensions()) {
    warnings.push_back(
        "messages between ranks that differ in several dimensions: ASTRA-sim charges only the innermost "
        "of them; so do we (--network flow shows the whole way)");
  }
  outcome.warnings = std::move(warnings);
}

}  // namespace

Outcome simulate(const Inputs& inputs) {
  check_network(inputs);
  Outcome outcome;
  const std::uint32_t npus = inputs.network.npus();
  const Groups groups{inputs.groups, inputs.workload.groups, npus};
  const Traces traces = read_traces(inputs.workload, npus, groups, inputs.system.replay_only,
                                    inputs.wants_stop, outcome.warnings);
  warn_of_artefacts(inputs, traces, outcome.warnings);
  FoldingChoice choice{.is_possible = false, .folding = {}, .reason = "not asked for"};
  if (inputs.may_fold) choice = choose_folding(inputs, traces);
  outcome.unfolded = choice.reason;
  if (choice.is_possible) {
    try {
      run_once(inputs, traces, groups, &choice.folding, outcome);
    } catch (const TieFound& tie) {
      outcome.unfolded = fmt::format("at cycle {} an order depends on who a rank is", tie.cycles);
    } catch (const SimulationError&) {
      outcome.unfolded = "the report names all ranks";  // A deadlock: run again to say who waits on whom.
    }
  }
  if (outcome.ranks.empty()) run_once(inputs, traces, groups, nullptr, outcome);
  Digest digest;
  for (const RankTimes& rank : outcome.ranks) {
    outcome.cycles = std::max(outcome.cycles, rank.cycles);
    digest.add(rank.cycles);
    digest.add(rank.exposed_cycles);
    digest.add(rank.communication_cycles);
    digest.add(rank.gpu_cycles);
  }
  outcome.digest = digest.value();
  return outcome;
}

}  // namespace orrery::astra
