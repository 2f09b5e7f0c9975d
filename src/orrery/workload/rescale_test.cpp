// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/rescale.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/workload/testing/replayed.hpp"

namespace orrery::workload {
namespace {

using namespace std::chrono_literals;
using collectives::Operation;
using test::replay;
using testing::HasSubstr;

constexpr const char* kStar = "star:hosts=8,bandwidth=1GBps,latency=500us";

std::string refusal(const Workload& workload, std::int64_t ranks) {
  try {
    static_cast<void>(rescale(workload, ranks, "--ranks"));
  } catch (const InputError& error) {
    return error.what();
  }
  return "not refused";
}

Workload replicas(Rank ranks) {
  std::vector<std::vector<Op>> ops(ranks);
  for (Rank rank = 0; rank < ranks; ++rank) {
    ops[rank] = {test::compute(1, 1ms * (rank + 1)),
                 test::collective(2, Operation::kAllReduce, Bytes{4096}, {1})};
  }
  return stored_workload("replicas", ops);
}

/// Everyone sends to the next and receives from the one before.
Workload ring(Rank ranks) {
  std::vector<std::vector<Op>> ops(ranks);
  for (Rank rank = 0; rank < ranks; ++rank) {
    ops[rank] = {test::send(1, (rank + 1) % ranks, Bytes{1'000'000}),
                 test::receive(2, (rank + ranks - 1) % ranks, Bytes{1'000'000})};
  }
  return stored_workload("ring", ops);
}

TEST(Rescale, ReplicasGoRoundTheRanksOfTheTrace) {
  const Workload six = rescale(replicas(4), 6, "--ranks");
  ASSERT_EQ(six.ranks, 6U);
  const test::Replayed run = replay(six, {.cluster = kStar});
  EXPECT_EQ(run.ranks[5].compute, Duration{2ms});  // As rank 1.
  EXPECT_EQ(run.collectives.at(0).ranks, 6U);
  EXPECT_EQ(replay(rescale(replicas(4), 2, "--ranks"), {.cluster = kStar}).ranks.size(), 2U);
}

TEST(Rescale, ARingStaysARing) {
  for (const Rank from : {2U, 3U, 4U}) {
    const test::Replayed run = replay(rescale(ring(from), 7, "--ranks"), {.cluster = kStar});
    EXPECT_EQ(run.total, Time{2ms}) << from;
  }
}

TEST(Rescale, WhatIsNoPatternIsRefusedWithTheReason) {
  std::vector<std::vector<Op>> ops(2, {test::collective(1, Operation::kAllReduce, Bytes{8})});
  ops[1][0].size = Bytes{16};
  EXPECT_THAT(refusal(stored_workload("w", ops), 4),
              HasSubstr("rank 1, node 1 'collective': it is another collective"));
  ops[1] = ops[0];
  ops[1].push_back(test::compute(2, 1ms));
  EXPECT_THAT(refusal(stored_workload("w", ops), 4), HasSubstr("rank 1 has more or fewer nodes"));
  ops[1] = ops[0];
  ops[0][0].group = ops[1][0].group = "g";
  EXPECT_THAT(refusal(stored_workload("w", ops, {{"g", {0}}}), 4), HasSubstr("group 'g', not of all ranks"));
  EXPECT_THAT(refusal(stored_workload("w", ops, {{"g", {0, 1}}}), 4), HasSubstr("not refused"));
  const Workload pipeline =
      stored_workload("w", {{test::send(1, 1, Bytes{8})}, {test::send(1, 2, Bytes{8})}, {}});
  EXPECT_THAT(refusal(pipeline, 4), HasSubstr("rank 2 has more or fewer nodes"));
  EXPECT_THAT(refusal(replicas(2), 0), HasSubstr("--ranks: '0': expected a number from 1"));
}

}  // namespace
}  // namespace orrery::workload
