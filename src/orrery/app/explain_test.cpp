// SPDX-License-Identifier: Apache-2.0
// Goal: the critical path and the exposed times are those that can be added up by hand.
// Method: two to four ranks whose computing and messages take whole milliseconds.
#include "orrery/app/explain.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/app/testing/explained.hpp"
#include "orrery/base/error.hpp"

namespace orrery::app {
namespace {

using namespace std::chrono_literals;
using test::compute;
using test::explained;
using test::gather;
using test::message;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;
using workload::Op;
using workload::OpKind;

/// "compute of rank 1: 12 ms" for each site of the path.
std::vector<std::string> path_of(const ExplainResult& result) {
  std::vector<std::string> lines;
  for (const PathShare& share : result.path.sites) {
    lines.push_back(share.site + ": " + std::to_string(count_ps(share.time) / 1'000'000'000) + " ms");
  }
  return lines;
}

/// Steps without a gap from 0 to the total.
void expect_whole(const ExplainResult& result) {
  Time at{};
  for (const PathStep& step : result.path.steps) {
    EXPECT_EQ(step.begin, at);
    at = step.end;
  }
  EXPECT_EQ(count_ps(at), result.total_ps);
}

const ExposedSite& exposed(const ExplainResult& result, const std::string& name) {
  for (const ExposedSite& site : result.exposed) {
    if (result.sites[site.site] == name) return site;
  }
  throw Bug{"no site " + name};
}

TEST(ExplainPath, GoesThroughWhoeverCameLast) {
  const ExplainResult result = explained({{compute(1, 10ms), gather(2, 4, {1}), compute(3, 7ms, {1, 2})},
                                          {compute(1, 12ms), gather(2, 4, {1}), compute(3, 1ms, {1, 2})}});
  EXPECT_EQ(result.total_ps, count_ps(Duration{24ms}));
  EXPECT_THAT(path_of(result),
              ElementsAre("compute of rank 1: 12 ms", "compute of rank 0: 7 ms", "gather at a.py:1: 5 ms"));
  expect_whole(result);
  ASSERT_EQ(result.path.steps.size(), 3U);
  EXPECT_EQ(result.path.steps[1].rank, 0U);
  EXPECT_EQ(result.path.steps[1].from_rank, 1U);
}

TEST(ExplainPath, FollowsTheStreamWhereNoDependencyWasLast) {
  const ExplainResult result = explained({{compute(1, 2ms), compute(2, 3ms)}});
  EXPECT_THAT(path_of(result), ElementsAre("compute of rank 0: 5 ms"));
  EXPECT_EQ(result.path_steps, 2U);
  expect_whole(result);
}

TEST(ExplainPath, MessagesWaitForTheReceiveUnlessTheyAreSmall) {
  const std::vector<std::vector<Op>> late{{message(1, OpKind::kSend, 1, 1), compute(2, 1ms, {1})},
                                          {compute(1, 10ms), message(2, OpKind::kReceive, 0, 1, {1})}};
  const ExplainResult rendezvous = explained(late);
  EXPECT_THAT(path_of(rendezvous),
              ElementsAre("compute of rank 1: 10 ms", "send: 2 ms", "compute of rank 0: 1 ms"));
  expect_whole(rendezvous);
  EXPECT_EQ(exposed(rendezvous, "send").worst.waiting, Duration{10ms});
  EXPECT_EQ(exposed(rendezvous, "send").worst.transfer, Duration{2ms});
  ReplayPlan plan = test::plan_of(late);
  plan.eager_limit = Bytes{1'000'000};
  const ExplainResult eager = explain(plan, {});
  EXPECT_THAT(path_of(eager), ElementsAre("compute of rank 1: 10 ms"));
  EXPECT_EQ(exposed(eager, "send").worst.waiting, Duration{});
  EXPECT_EQ(exposed(eager, "send").worst.transfer, Duration{2ms});
}

TEST(ExplainPath, PausesAreTheirOwnKindAndDetachedOperationsDoNotCount) {
  Op pause = compute(1, 3ms);
  pause.name = "sleep";
  pause.recorded_scale = 0;
  Op late = gather(3, 9, {1}, "late");
  late.is_detached = true;
  const ExplainResult result = explained({{pause, compute(2, 1ms, {1}), late}, {pause, late}});
  EXPECT_EQ(result.total_ps, count_ps(Duration{4ms}));
  ASSERT_EQ(result.path.kinds.size(), 2U);
  EXPECT_EQ(result.path.kinds[0].kind, StepKind::kPause);
  EXPECT_EQ(result.path.sites[0].site, "sleep of rank 0");
  expect_whole(result);
}

TEST(ExplainPath, TakesNoTimeWhenNothingDoes) {
  const ExplainResult result = explained({{test::make_op(1, OpKind::kNone, "", {})}, {}});
  EXPECT_EQ(result.total_ps, 0);
  EXPECT_TRUE(result.path.sites.empty());
  EXPECT_FALSE(result.overlap.together_ps);
  EXPECT_THAT(to_json(result), HasSubstr("\"total_ps\": 0"));
}

TEST(ExplainPath, KeepsTheLongestStepsInTheOrderOfTime) {
  const std::vector<std::vector<Op>> chain{
      {compute(1, 3ms), compute(2, 1ms, {1}), compute(3, 5ms, {2}), compute(4, 2ms, {3})}};
  const ExplainResult result = explained(chain, {.top = 2});
  EXPECT_EQ(result.path_steps, 4U);
  ASSERT_EQ(result.path.steps.size(), 2U);
  EXPECT_EQ(result.path.steps[0].id, 1U);
  EXPECT_EQ(result.path.steps[1].id, 3U);
  EXPECT_EQ(explained(chain, {.top = 2, .is_complete = true}).path.steps.size(), 4U);
}

TEST(ExplainExposure, IsSplitAtTheArrivalOfTheLast) {
  const ExplainResult result = explained({{compute(1, 10ms), gather(2, 4, {1}), compute(3, 7ms, {1, 2})},
                                          {compute(1, 12ms), gather(2, 4, {1}), compute(3, 1ms, {1, 2})}});
  const ExposedSite& site = exposed(result, "gather at a.py:1");
  EXPECT_EQ(site.calls, 1U);
  EXPECT_EQ(site.ranks, 2U);
  EXPECT_EQ(site.worst_rank, 0U);
  EXPECT_EQ(site.worst.waiting, Duration{2ms});
  EXPECT_EQ(site.worst.transfer, Duration{5ms});
  EXPECT_EQ(site.mean(&ExposedTime::waiting), Duration{1ms});
  EXPECT_EQ(site.mean(&ExposedTime::transfer), Duration{5ms});
  EXPECT_EQ(site.sum.hidden, Duration{});
}

TEST(ExplainExposure, WhatIsComputedMeanwhileHides) {
  const std::vector<Op> rank{compute(1, 1ms), gather(2, 4, {1}), compute(3, 2ms, {1}),
                             compute(4, 1ms, {2, 3})};
  const ExplainResult result = explained({rank, rank});
  const ExposedSite& site = exposed(result, "gather at a.py:1");
  EXPECT_EQ(site.worst.transfer, Duration{3ms});
  EXPECT_EQ(site.worst.hidden, Duration{2ms});
  EXPECT_EQ(site.worst.waiting, Duration{});
}

TEST(ExplainExposure, GoesToEachOfAChainAndToTheLastOfARank) {
  const std::vector<Op> rank{compute(1, 1ms), gather(2, 4, {1}, "one"), gather(3, 2, {2}, "two"),
                             compute(4, 1ms, {3}), gather(5, 1, {4}, "three")};
  const ExplainResult result = explained({rank, rank});
  EXPECT_EQ(exposed(result, "one").worst.transfer, Duration{5ms});
  EXPECT_EQ(exposed(result, "two").worst.transfer, Duration{3ms});
  EXPECT_EQ(exposed(result, "three").worst.transfer, Duration{2ms});
  EXPECT_EQ(result.sites[result.exposed.front().site], "one");
}

TEST(Explain, NamesAnIndependentOfWhatIsNotWaitedFor) {
  const auto with = [](std::uint64_t of) {
    const std::vector<Op> rank{compute(1, 1ms), gather(2, 4, {1}),
                               test::independent(compute(3, 2ms, {1}), 1ms, of)};
    return [rank] { return explained({rank, rank}); };
  };
  EXPECT_THAT(with(9), ThrowsMessage<InputError>(HasSubstr(
                           "rank 0: node 3 'compute': independent_of: '9': expected the id of a comm")));
  EXPECT_THAT(with(1), ThrowsMessage<InputError>(HasSubstr("independent_of: '1': expected the id")));
  EXPECT_THAT(with(2), ThrowsMessage<InputError>(HasSubstr("independent_of: '2': the node does not depend")));
}

TEST(Explain, TheSameInputGivesTheSameText) {
  const std::vector<Op> rank{compute(1, 10ms), gather(2, 4, {1}),
                             test::independent(compute(3, 7ms, {1, 2}), 4ms, 2)};
  EXPECT_EQ(to_json(explained({rank, rank})), to_json(explained({rank, rank})));
}

}  // namespace
}  // namespace orrery::app
