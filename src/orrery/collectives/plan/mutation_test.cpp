// SPDX-License-Identifier: Apache-2.0
// The symbolic executor would be worth nothing if it passed broken schedules. Here every action of every algorithm's
// schedules is broken in turn, and each time it must notice.
#include <gtest/gtest.h>

#include <functional>

#include "orrery/collectives/plan/plan_cases.hpp"
#include "orrery/collectives/plan/symbolic_executor.hpp"

namespace orrery::collectives::plan {
namespace {

struct Place {
  Rank rank = 0;
  std::uint32_t lane = 0;
  std::uint64_t index = 0;
};

/// A schedule with one action taken out, doubled or replaced.
class Mutant final : public Schedule {
 public:
  enum class Change : std::uint8_t { kDrop, kDouble, kReplace };
  Mutant(const Schedule& original, Place place, Change change, Action replacement = {})
      : original_{original}, place_{place}, change_{change}, replacement_{replacement} {}

  [[nodiscard]] std::uint32_t ranks() const override { return original_.ranks(); }
  [[nodiscard]] std::uint32_t participants() const override { return original_.participants(); }
  [[nodiscard]] std::uint32_t chunk_count() const override { return original_.chunk_count(); }
  [[nodiscard]] std::uint32_t lanes(Rank rank) const override { return original_.lanes(rank); }
  [[nodiscard]] std::vector<Rank> peers(Rank rank, std::uint32_t lane) const override {
    return original_.peers(rank, lane);
  }
  [[nodiscard]] std::uint64_t length(Rank rank, std::uint32_t lane) const override {
    const std::uint64_t length = original_.length(rank, lane);
    if (!is_here(rank, lane) || change_ == Change::kReplace) return length;
    return change_ == Change::kDrop ? length - 1 : length + 1;
  }
  [[nodiscard]] Action action(Rank rank, std::uint32_t lane, std::uint64_t index) const override {
    if (!is_here(rank, lane)) return original_.action(rank, lane, index);
    if (change_ == Change::kReplace && index == place_.index) return replacement_;
    if (change_ == Change::kDrop && index >= place_.index) return original_.action(rank, lane, index + 1);
    if (change_ == Change::kDouble && index > place_.index) return original_.action(rank, lane, index - 1);
    return original_.action(rank, lane, index);
  }
  [[nodiscard]] std::span<const std::uint32_t> chunk_list() const override { return original_.chunk_list(); }

 private:
  [[nodiscard]] bool is_here(Rank rank, std::uint32_t lane) const {
    return rank == place_.rank && lane == place_.lane;
  }

  const Schedule& original_;
  Place place_;
  Change change_;
  Action replacement_;
};

bool adds_up(Operation operation) {
  return operation == Operation::kAllReduce || operation == Operation::kReduce ||
         operation == Operation::kReduceScatter;
}

class Mutations : public testing::TestWithParam<std::string> {
 protected:
  using Visit = std::function<void(const PlanRequest&, const Schedule&, Place, const Action&)>;

  /// Calls `visit` for every action of the schedules of `ranks` ranks.
  void for_each_action(Rank ranks, const Visit& visit) const {
    const AlgorithmRegistry registry = builtin_algorithms();
    const Algorithm& algorithm = registry.get(GetParam());
    for (PlanRequest request : few_plan_cases(ranks)) {
      request.pieces = 2;
      if (!algorithm.refusal(request).empty()) continue;
      const auto schedule = algorithm.plan(request);
      for (Rank rank = 0; rank < schedule->participants(); ++rank) {
        for (std::uint32_t lane = 0; lane < schedule->lanes(rank); ++lane) {
          for (std::uint64_t index = 0; index < schedule->length(rank, lane); ++index) {
            visit(request, *schedule, {rank, lane, index}, schedule->action(rank, lane, index));
          }
        }
      }
    }
  }
};

std::string found(const Schedule& mutant, const PlanRequest& request) {
  return symbolic_problem(mutant, request, 1);
}

TEST_P(Mutations, DroppedOrDoubledActionsAreFound) {
  for (const Rank ranks : {2U, 4U, 5U, 6U}) {
    for_each_action(ranks,
                    [](const PlanRequest& request, const Schedule& schedule, Place place, const Action&) {
                      const Mutant dropped{schedule, place, Mutant::Change::kDrop};
                      EXPECT_NE(found(dropped, request), "")
                          << to_text(request) << " action " << place.index << " of " << place.rank;
                      const Mutant doubled{schedule, place, Mutant::Change::kDouble};
                      EXPECT_NE(found(doubled, request), "")
                          << to_text(request) << " action " << place.index << " of " << place.rank;
                    });
  }
}

TEST_P(Mutations, WrongPeersAndChunksAreFound) {
  for_each_action(
      6, [](const PlanRequest& request, const Schedule& schedule, Place place, const Action& action) {
        const std::size_t peers = schedule.peers(place.rank, place.lane).size();
        if (peers > 1) {
          Action other = action;
          other.peer = (action.peer + 1) % static_cast<std::uint32_t>(peers);
          EXPECT_NE(found(Mutant{schedule, place, Mutant::Change::kReplace, other}, request), "")
              << to_text(request);
        }
        if (!action.chunks.listed && schedule.chunk_count() > 1) {
          Action other = action;
          other.chunks = {(action.chunks.first + 1) % schedule.chunk_count(), 1, false};
          EXPECT_NE(found(Mutant{schedule, place, Mutant::Change::kReplace, other}, request), "")
              << to_text(request);
        }
      });
}

/// Switches have nothing of their own, so for the first message that reaches one it makes no difference.
TEST_P(Mutations, OverwritingInsteadOfAddingIsFound) {
  for_each_action(
      7, [](const PlanRequest& request, const Schedule& schedule, Place place, const Action& action) {
        if (action.kind != ActionKind::kReceiveReduce || place.rank >= schedule.ranks()) return;
        Action other = action;
        other.kind = ActionKind::kReceive;
        EXPECT_NE(found(Mutant{schedule, place, Mutant::Change::kReplace, other}, request), "")
            << to_text(request);
      });
}

TEST_P(Mutations, AddingInsteadOfOverwritingIsFound) {
  for_each_action(
      7, [](const PlanRequest& request, const Schedule& schedule, Place place, const Action& action) {
        const bool is_rank = place.rank < schedule.ranks();
        if (action.kind != ActionKind::kReceive || !is_rank || !adds_up(request.operation)) return;
        Action other = action;
        other.kind = ActionKind::kReceiveReduce;
        EXPECT_NE(found(Mutant{schedule, place, Mutant::Change::kReplace, other}, request), "")
            << to_text(request);
      });
}

INSTANTIATE_TEST_SUITE_P(Builtin, Mutations, testing::ValuesIn(algorithm_names()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace orrery::collectives::plan
