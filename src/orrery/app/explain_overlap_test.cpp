// SPDX-License-Identifier: Apache-2.0
// Goal: what moving a wait would save is what a program that waits later takes less.
// Method: small programs whose moved form can be added up by hand.
#include "orrery/app/explain_overlap.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/app/explain_move.hpp"
#include "orrery/app/testing/explained.hpp"

namespace orrery::app {
namespace {

using namespace std::chrono_literals;
using test::compute;
using test::explained;
using test::gather;
using test::independent;
using testing::HasSubstr;
using workload::Op;
using workload::OpKind;

constexpr std::int64_t kMs = 1'000'000'000;

/// 10 ms, a gather of 5 ms, 7 ms of which `time` does not need it.
ExplainResult classic(Duration time, Duration again = {}, const ExplainOptions& options = {}) {
  const std::vector<Op> rank{compute(1, 10ms), gather(2, 4, {1}),
                             independent(compute(3, 7ms, {1, 2}), time, 2, again)};
  return explained({rank, rank}, options);
}

std::int64_t saved(const ExplainResult& result) {
  return result.total_ps - result.overlap.sites.front().total_ps.value();
}

TEST(ExplainOverlap, SavesWhatIsIndependentUpToTheTransfer) {
  const ExplainResult four = classic(4ms);
  EXPECT_EQ(four.total_ps, 22 * kMs);
  EXPECT_EQ(saved(four), 4 * kMs);
  EXPECT_EQ(four.overlap.sites[0].reason, "");
  EXPECT_EQ(four.overlap.sites[0].at_most_ps, 5 * kMs);
  EXPECT_EQ(four.overlap.sites[0].independent, Duration{4ms});
  EXPECT_EQ(four.overlap.sites[0].work.front().what, "linear at a.py:2");
  EXPECT_EQ(four.overlap.together_ps, 18 * kMs);
  EXPECT_EQ(saved(classic(6ms)), 5 * kMs);
  EXPECT_EQ(saved(classic(7ms)), 5 * kMs);  // Nothing is left after the wait.
}

TEST(ExplainOverlap, WorkThatIsDoneAgainCosts) {
  EXPECT_EQ(saved(classic(4ms, 2ms)), 3 * kMs);  // 6 ms beside 5, then 3.
  const ExplainResult dear = classic(4ms, 20ms);
  EXPECT_EQ(saved(dear), -15 * kMs);
  EXPECT_THAT(dear.overlap.sites[0].reason, HasSubstr("no gain"));
  EXPECT_FALSE(dear.overlap.together_ps);
}

TEST(ExplainOverlap, SaysWhyNothingIsSaved) {
  const ExplainResult none = classic(0ms);
  EXPECT_TRUE(none.overlap.has_dataflow);
  EXPECT_THAT(none.overlap.sites[0].reason, HasSubstr("nothing independent"));
  EXPECT_EQ(none.overlap.sites[0].at_most_ps, 5 * kMs);
  EXPECT_FALSE(none.overlap.sites[0].total_ps);

  const std::vector<Op> silent{compute(1, 10ms), gather(2, 4, {1}), compute(3, 2ms, {1, 2})};
  const ExplainResult unknown = explained({silent, silent});
  EXPECT_FALSE(unknown.overlap.has_dataflow);
  EXPECT_THAT(unknown.overlap.sites[0].reason, HasSubstr("not known"));
  EXPECT_EQ(unknown.overlap.sites[0].at_most_ps, 2 * kMs);

  const std::vector<Op> hidden{compute(1, 1ms), gather(2, 1, {1}), compute(3, 9ms, {1}),
                               independent(compute(4, 1ms, {2, 3}), 1ms, 2)};
  EXPECT_THAT(explained({hidden, hidden}).overlap.sites[0].reason, HasSubstr("not exposed"));

  ExplainOptions fixed;
  fixed.replay.compute = "fixed:1ms";
  EXPECT_THAT(classic(4ms, 0ms, fixed).overlap.sites[0].reason, HasSubstr("not tried"));
}

TEST(ExplainOverlap, WithoutComputingThereIsNoGain) {
  const std::vector<Op> rank{gather(1, 4, {}), gather(2, 4, {1}), gather(3, 4, {2})};
  const ExplainResult result = explained({rank, rank});
  EXPECT_EQ(result.total_ps, 15 * kMs);
  ASSERT_EQ(result.overlap.sites.size(), 1U);
  EXPECT_EQ(result.overlap.sites[0].at_most_ps, 0);
  EXPECT_FALSE(result.overlap.sites[0].total_ps);
  EXPECT_FALSE(result.overlap.together_ps);
}

TEST(ExplainOverlap, MovesEveryCallOfASiteAndAllSitesTogether) {
  std::vector<Op> rank;
  for (std::uint64_t i = 0; i < 3; ++i) {
    const std::uint64_t at = 5 * i;
    rank.push_back(compute(at + 1, 2ms, i == 0 ? test::Ids{} : test::Ids{at}));
    rank.push_back(gather(at + 2, 4, {at + 1}, "one"));
    rank.push_back(independent(compute(at + 3, 3ms, {at + 1, at + 2}), 2ms, at + 2));
    rank.push_back(gather(at + 4, 1, {at + 3}, "two"));
    rank.push_back(independent(compute(at + 5, 1ms, {at + 3, at + 4}), 1ms, at + 4));
  }
  const ExplainResult result = explained({rank, rank});
  ASSERT_EQ(result.overlap.sites.size(), 2U);
  EXPECT_EQ(result.sites[result.overlap.sites[0].site], "one");
  EXPECT_EQ(result.total_ps - *result.overlap.sites[0].total_ps, 6 * kMs);
  EXPECT_EQ(result.overlap.sites[0].independent, Duration{6ms});
  EXPECT_EQ(result.total_ps - *result.overlap.sites[1].total_ps, 3 * kMs);
  EXPECT_EQ(result.total_ps - *result.overlap.together_ps, 9 * kMs);
  const ExplainResult one = explained({rank, rank}, {.top = 1});
  EXPECT_FALSE(one.overlap.sites[1].at_most_ps);
  EXPECT_THAT(one.overlap.sites[1].reason, HasSubstr("not tried"));
}

TEST(ExplainOverlap, OpensJoinsAndStaysBehindThePost) {
  // The join waits for the gather; what follows depends on the join alone.
  const std::vector<Op> joined{compute(1, 10ms), gather(2, 4, {1}),
                               test::make_op(3, OpKind::kNone, "join", {1, 2}),
                               independent(compute(4, 7ms, {3}), 4ms, 2)};
  EXPECT_EQ(saved(explained({joined, joined})), 4 * kMs);
  // Depends on the gather alone: its first part still comes after the computing before the post.
  const std::vector<Op> alone{compute(1, 10ms), gather(2, 4, {1}), independent(compute(3, 7ms, {2}), 4ms, 2)};
  EXPECT_EQ(saved(explained({alone, alone})), 4 * kMs);
  EXPECT_EQ(explained({alone, alone}).overlap.sites[0].at_most_ps, 5 * kMs);
}

TEST(ExplainMoves, NothingMovedTakesTheSameTime) {
  std::vector<Op> rank{compute(7, 2ms), compute(3, 1ms), gather(20, 2, {3, 7}), compute(50, 1ms, {20})};
  rank[1].control_deps = {7};
  ReplayPlan plan = test::plan_of({rank, rank, rank});
  const ExplainGraph graph{plan.workload};
  const ReplayOptions options;
  const ExplainRunner runner{plan, options};
  const ExplainMoves moves{graph};
  EXPECT_EQ(runner.run(moves.moved({false})).total_ps, runner.run(graph).total_ps);
}

TEST(ExplainMoves, ComputingInARowIsFreedUpToTheNextOperation) {
  // 1 + 5, then 2 + 2 that are cut, then a gather that needs both.
  const std::vector<Op> rank{compute(1, 1ms), gather(2, 4, {1}, "one"), compute(3, 2ms, {1, 2}),
                             compute(4, 2ms, {3}), gather(5, 1, {4}, "two")};
  const ExplainResult result = explained({rank, rank});
  EXPECT_EQ(result.total_ps, (1 + 5 + 4 + 2) * kMs);
  for (const OverlapSite& site : result.overlap.sites) {
    EXPECT_EQ(site.at_most_ps, result.sites[site.site] == "one" ? 4 * kMs : 0);
  }
}

}  // namespace
}  // namespace orrery::app
