// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/algorithm.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/text.hpp"

namespace orrery::collectives {

namespace {

/// One rank alone: it has what it needs.
class LoneRank final : public Schedule {
 public:
  [[nodiscard]] std::uint32_t ranks() const override { return 1; }
  [[nodiscard]] std::uint32_t chunk_count() const override { return 1; }
  [[nodiscard]] std::uint32_t lanes(Rank) const override { return 1; }
  [[nodiscard]] std::vector<Rank> peers(Rank, std::uint32_t) const override { return {}; }
  [[nodiscard]] std::uint64_t length(Rank, std::uint32_t) const override { return 0; }
  [[nodiscard]] Action action(Rank, std::uint32_t, std::uint64_t) const override {
    ORRERY_CHECK(false, "a lone rank has no actions");
    return {};
  }
};

/// Chunk ids and action numbers are 32 bits wide; the factor leaves room for the two halves of a ring and for
/// a send and a receive per chunk and phase.
bool has_room_for_ids(const PlanRequest& request) {
  constexpr std::uint64_t kActionsPerChunk = 8;
  const std::uint64_t blocks = request.operation == Operation::kAllToAll
                                   ? std::uint64_t{request.ranks} * request.ranks
                                   : request.ranks;
  return blocks <= std::numeric_limits<std::uint32_t>::max() / kActionsPerChunk / request.pieces;
}

/// What no algorithm can plan.
std::string malformed(const PlanRequest& request) {
  if (request.ranks == 0) return "needs at least one rank";
  if (request.root >= request.ranks) {
    return fmt::format("root {} is not one of the {} ranks", request.root, request.ranks);
  }
  if (request.pieces == 0) return "needs at least one piece";
  if (!has_room_for_ids(request)) {
    return fmt::format("{} ranks with {} pieces need more chunk ids than there are", request.ranks,
                       request.pieces);
  }
  std::uint64_t product = 1;
  for (const std::uint32_t size : request.dims) {
    product = std::min(product * size, std::uint64_t{std::numeric_limits<std::uint32_t>::max()});
  }
  if (!request.dims.empty() && product != request.ranks) {
    return fmt::format("the dims have {} ranks, the group has {}", product, request.ranks);
  }
  return "";
}

std::string refusal(const Algorithm& own, const PlanRequest& request) {
  if (std::ranges::find(own.operations, request.operation) == own.operations.end()) {
    return fmt::format("does no {}", to_text(request.operation));
  }
  std::string reason = malformed(request);
  if (reason.empty() && request.ranks > 1 && own.refusal) reason = own.refusal(request);
  return reason;
}

}  // namespace

void AlgorithmRegistry::add(Algorithm algorithm) {
  for (const Algorithm& known : algorithms_) {
    ORRERY_CHECK(known.name != algorithm.name, "collective algorithm {} is registered twice", known.name);
  }
  ORRERY_CHECK(algorithm.plan && algorithm.wire_bytes, "collective algorithm {} is incomplete",
               algorithm.name);
  Algorithm guarded{algorithm.name, algorithm.help, algorithm.operations, {}, {}, {}};
  const auto own = std::make_shared<const Algorithm>(std::move(algorithm));
  guarded.refusal = [own](const PlanRequest& request) { return refusal(*own, request); };
  guarded.plan = [own](const PlanRequest& request) -> std::unique_ptr<Schedule> {
    const std::string reason = refusal(*own, request);
    ORRERY_CHECK(reason.empty(), "{} was asked for what it refuses: {}", own->name, reason);
    if (request.ranks == 1) return std::make_unique<LoneRank>();
    return own->plan(request);
  };
  guarded.wire_bytes = [own](const PlanRequest& request, const Layout& layout) {
    return request.ranks == 1 ? Bytes{} : own->wire_bytes(request, layout);
  };
  algorithms_.push_back(std::move(guarded));
}

const Algorithm& AlgorithmRegistry::get(const std::string& name) const& {
  std::vector<std::string> names;
  for (const Algorithm& algorithm : algorithms_) {
    if (algorithm.name == name) return algorithm;
    names.push_back(algorithm.name);
  }
  throw InputError{InputProblem{.source = "",
                                .position = {},
                                .field = "collective algorithm",
                                .value = name,
                                .expected = "one of " + join(names, ", "),
                                .nearest = nearest_name(name, names)}};
}

std::vector<const Algorithm*> AlgorithmRegistry::able(const PlanRequest& request) const {
  std::vector<const Algorithm*> result;
  for (const Algorithm& algorithm : algorithms_) {
    if (algorithm.refusal(request).empty()) result.push_back(&algorithm);
  }
  return result;
}

}  // namespace orrery::collectives
