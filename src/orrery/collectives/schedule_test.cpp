// SPDX-License-Identifier: Apache-2.0
// Layouts, names, the registry, and schedules small enough to be written down.
#include "orrery/collectives/schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"
#include "orrery/base/rng.hpp"
#include "orrery/collectives/algorithm.hpp"
#include "orrery/collectives/plan/divider.hpp"
#include "orrery/collectives/plan/tree.hpp"

namespace orrery::collectives {
namespace {

using testing::ElementsAre;

std::vector<std::int64_t> sizes(const Layout& layout) {
  std::vector<std::int64_t> result;
  for (std::uint32_t chunk = 0; chunk < layout.chunk_count(); ++chunk) {
    result.push_back(layout.bytes({chunk, 1, false}, {}).count());
  }
  return result;
}

TEST(Layout, EvenPartsDifferByOneElementAndTheFirstAreLarger) {
  EXPECT_THAT(sizes(Layout::even(Bytes{10}, 4)), ElementsAre(3, 3, 2, 2));
  EXPECT_THAT(sizes(Layout::even(Bytes{24}, 4, Bytes{4})), ElementsAre(8, 8, 4, 4));
  EXPECT_THAT(sizes(Layout::even(Bytes{3}, 5)), ElementsAre(1, 1, 1, 0, 0));
  EXPECT_THAT(sizes(Layout::even(Bytes{10}, 2, Bytes{4})), ElementsAre(8, 2));
  EXPECT_THAT(sizes(Layout::even(Bytes{0}, 2)), ElementsAre(0, 0));
}

TEST(Layout, RangesAndListsAddUp) {
  const Layout layout{{Bytes{5}, Bytes{0}, Bytes{7}, Bytes{11}}};
  const std::vector<std::uint32_t> list{3, 0, 3};
  EXPECT_EQ(layout.bytes({1, 3, false}, {}), Bytes{18});
  EXPECT_EQ(layout.bytes({0, 2, true}, list), Bytes{16});
  EXPECT_EQ(layout.bytes({4, 0, false}, {}), Bytes{0});
  EXPECT_THROW(static_cast<void>(layout.bytes({3, 2, false}, {})), Bug);
  EXPECT_THROW(static_cast<void>(layout.bytes({2, 2, true}, list)), Bug);
}

TEST(Operation, NamesReadBack) {
  for (std::size_t i = 0; i < kOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    EXPECT_EQ(parse_operation(to_text(operation)), operation);
  }
  EXPECT_EQ(parse_operation("AllReduce"), Operation::kAllReduce);
  EXPECT_EQ(parse_operation("alltoall"), Operation::kAllToAll);
  EXPECT_EQ(parse_operation("ALL_TO_ALL"), Operation::kAllToAll);
  EXPECT_EQ(parse_operation("all-gather-v"), Operation::kAllGather);
  EXPECT_EQ(parse_operation("sendrecv"), Operation::kSendReceive);
  EXPECT_EQ(parse_operation("allreduces"), std::nullopt);
  EXPECT_EQ(parse_operation("v"), std::nullopt);
  EXPECT_EQ(parse_operation(""), std::nullopt);
}

TEST(AlgorithmRegistry, UnknownNamesListTheKnownOnesAndDuplicatesAreBugs) {
  AlgorithmRegistry registry = builtin_algorithms();
  try {
    static_cast<void>(registry.get("rign"));
    FAIL() << "an unknown name was found";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("halving_doubling"));
    EXPECT_EQ(error.problem().nearest, "ring");
  }
  EXPECT_THROW(registry.add(registry.get("ring")), Bug);
}

TEST(AlgorithmRegistry, PlanningARefusedRequestIsABug) {
  const AlgorithmRegistry registry = builtin_algorithms();
  const PlanRequest request{.operation = Operation::kAllGather, .ranks = 6};
  const Algorithm& doubling = registry.get("recursive_doubling");
  EXPECT_THAT(doubling.refusal(request), testing::HasSubstr("power of two"));
  EXPECT_THROW(static_cast<void>(doubling.plan(request)), Bug);
}

TEST(AlgorithmRegistry, EveryOperationCanBePlannedForAnyGroup) {
  const AlgorithmRegistry registry = builtin_algorithms();
  for (std::size_t i = 0; i + 1 < kOperationCount; ++i) {
    EXPECT_GE(registry.able({.operation = static_cast<Operation>(i), .ranks = 37}).size(), 2U);
  }
  EXPECT_EQ(registry.able({.operation = Operation::kSendReceive, .ranks = 2}).size(), 1U);
}

// Rank 1 of 3 sends its predecessor's block on, then its own result.
TEST(Ring, AllReduceOfThree) {
  const AlgorithmRegistry registry = builtin_algorithms();
  const auto ring = registry.get("ring").plan({.operation = Operation::kAllReduce, .ranks = 3});
  EXPECT_THAT(ring->peers(1, 0), ElementsAre(2, 0));
  std::vector<std::uint32_t> sent;
  std::vector<std::uint32_t> received;
  for (std::uint64_t index = 0; index < ring->length(1, 0); ++index) {
    const Action action = ring->action(1, 0, index);
    (action.kind == ActionKind::kSend ? sent : received).push_back(action.chunks.first);
  }
  EXPECT_THAT(sent, ElementsAre(0, 2, 1, 0));
  EXPECT_THAT(received, ElementsAre(2, 1, 0, 2));
}

TEST(Ring, LargeSchedulesAreNotStored) {
  const AlgorithmRegistry registry = builtin_algorithms();
  const auto ring = registry.get("ring").plan({.operation = Operation::kAllReduce, .ranks = 100'000});
  EXPECT_EQ(ring->length(0, 0), 4U * 99'999U);
  const Action last = ring->action(99'999, 0, 4 * 99'999 - 1);
  EXPECT_EQ(last.kind, ActionKind::kReceive);
  EXPECT_EQ(last.chunks.first, 0U);  // Block r+1: the farthest around the ring.
}

TEST(Divider, AgreesWithDivision) {
  Rng rng{1, "divider"};
  for (int round = 0; round < 20'000; ++round) {
    const auto bits = static_cast<unsigned>(rng.between(0, 31));
    const auto divisor = static_cast<std::uint32_t>(rng.between(1, (std::int64_t{1} << (bits + 1)) - 1));
    const auto value = static_cast<std::uint32_t>(rng.next());
    const auto [quotient, remainder] = plan::Divider{divisor}.divide(value);
    ASSERT_EQ(quotient, value / divisor) << value << " / " << divisor;
    ASSERT_EQ(remainder, value % divisor) << value << " % " << divisor;
  }
}

TEST(Tree, FindsTheWayAndKeepsSubtreesTogether) {
  //     2
  //    / \      children of 2: 0, 4; of 0: 1, 3.
  const plan::Tree tree{{2, 0, 2, 0, 2}};
  EXPECT_THAT(tree.preorder(), ElementsAre(2, 0, 1, 3, 4));
  EXPECT_EQ(tree.weight(0), 3U);
  EXPECT_EQ(tree.height(2), 2U);
  EXPECT_EQ(tree.depth(3), 2U);
  EXPECT_EQ(tree.towards(2, 3), 0U);
  EXPECT_EQ(tree.towards(2, 4), 1U);
  EXPECT_EQ(tree.towards(0, 3), 1U);
  EXPECT_EQ(tree.towards(0, 4), 2U);  // The parent stands after the two children.
  EXPECT_THAT(plan::rerooted({2, 0, 2, 0, 2}, 3), ElementsAre(3, 0, 0, 3, 2));
}

TEST(Tree, DefectsAreNamed) {
  using plan::tree_defect;
  EXPECT_EQ(tree_defect(std::vector<Rank>{0, 0, 1}), "");
  EXPECT_THAT(tree_defect(std::vector<Rank>{0, 1}), testing::HasSubstr("2"));
  EXPECT_THAT(tree_defect(std::vector<Rank>{0, 2, 1}), testing::HasSubstr("cycle"));
  EXPECT_THAT(tree_defect(std::vector<Rank>{0, 9}), testing::HasSubstr("does not exist"));
  EXPECT_THAT(tree_defect(std::vector<Rank>{1, 0}), testing::HasSubstr("root"));
}

}  // namespace
}  // namespace orrery::collectives
