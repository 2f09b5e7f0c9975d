// SPDX-License-Identifier: Apache-2.0
#include "orrery/astra/fold.hpp"

#include <fmt/format.h>

#include "orrery/astra/simulate.hpp"

namespace orrery::astra {
namespace {

/// Why the steps of a rank cannot be folded; "" when they can. Collects which collectives there are.
std::string refuse_steps(const Inputs& inputs, const Trace& trace, std::vector<bool>& used) {
  for (const Step& step : trace.steps) {
    if (step.kind == OpKind::kSend || step.kind == OpKind::kReceive) return "ranks send to each other";
    if ((step.kind == OpKind::kLoad || step.kind == OpKind::kStore) &&
        inputs.memory.kind != MemoryKind::kPerNpu) {
      return "ranks share remote memory";
    }
    if (step.kind != OpKind::kCollective || step.is_broadcast) continue;
    if (step.group != kAllRanks) return "collectives run in groups";
    if (!inputs.system.node_custom.empty()) return "a collective has an algorithm of its own";
    used[static_cast<std::size_t>(step.collective)] = true;
  }
  return "";
}

/// Enters the algorithms of one collective into the folding; why they do not fit, or "".
std::string add_choices(const Inputs& inputs, const std::vector<Choice>& choices, std::vector<int>& kinds) {
  constexpr int kRotates = 1;
  constexpr int kExchanges = 2;
  for (std::size_t dim = 0; dim < choices.size() && dim < kinds.size(); ++dim) {
    const Choice& choice = choices[dim];
    if (choice.algorithm == Algorithm::kDoubleBinaryTree) return "in a tree ranks differ";
    if (choice.flattened && kinds.size() > 1) return "one algorithm spans several dimensions";
    const bool exchanges = choice.algorithm == Algorithm::kHalvingDoubling;
    if (exchanges && inputs.is_aware && inputs.network.dims[dim].shape == Shape::kRing) {
      return "halving-doubling uses the links of a ring unevenly";
    }
    const int kind = exchanges ? kExchanges : kRotates;
    if (kinds[dim] != 0 && kinds[dim] != kind) return "algorithms pair ranks in different ways";
    kinds[dim] = kind;
    if (choice.flattened) break;
  }
  return "";
}

}  // namespace

std::uint32_t Folding::opposite(std::uint32_t source) const {
  std::uint32_t distance = 0;
  std::uint32_t stride = 1;
  for (std::size_t dim = 0; dim < sizes.size(); ++dim) {
    const std::uint32_t place = source / stride % sizes[dim];
    distance += stride * (is_exclusive_or[dim] ? place : (sizes[dim] - place) % sizes[dim]);
    stride *= sizes[dim];
  }
  return distance;
}

FoldingChoice choose_folding(const Inputs& inputs, const Traces& traces) {
  const auto no = [](std::string reason) {
    return FoldingChoice{.is_possible = false, .folding = {}, .reason = std::move(reason)};
  };
  if (!traces.are_equal) return no("ranks do different things");
  if (inputs.is_rendezvous) return no("receivers answer senders (rendezvous)");
  std::vector<bool> used(kCollectives, false);
  if (std::string reason = refuse_steps(inputs, *traces.ranks[0], used); !reason.empty()) return no(reason);
  std::vector<int> kinds(inputs.network.dims.size(), 0);
  for (std::size_t i = 0; i < kCollectives; ++i) {
    if (!used[i]) continue;
    if (!inputs.system.custom[i].empty()) return no("a collective has an algorithm of its own");
    if (std::string reason = add_choices(inputs, inputs.system.choices[i], kinds); !reason.empty()) {
      return no(reason);
    }
  }
  FoldingChoice choice{.is_possible = true, .folding = {}, .reason = {}};
  for (std::size_t dim = 0; dim < kinds.size(); ++dim) {
    choice.folding.sizes.push_back(inputs.network.dims[dim].size);
    choice.folding.is_exclusive_or.push_back(kinds[dim] == 2);
  }
  return choice;
}

void TieWatch::see(std::uint64_t now, bool at_switch, const Provenance& provenance, std::uint32_t chunk) {
  Last& last = last_[at_switch ? 1 : 0];
  if (last.time != now || last.inserted != provenance.inserted) {
    last = {.time = now, .inserted = provenance.inserted, .actor = provenance.actor, .chunk = chunk};
    return;
  }
  last.same_actor = last.same_actor && last.actor == provenance.actor;
  last.same_chunk = last.same_chunk && chunk != kNoChunk && last.chunk == chunk;
  if (!last.same_actor && !last.same_chunk) throw TieFound{now};
}

}  // namespace orrery::astra
