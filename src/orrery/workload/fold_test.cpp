// SPDX-License-Identifier: Apache-2.0
// Goal: folding changes no time and no byte. Method: the same workload with and without, over networks, clusters,
// algorithms and operations, also where the ranks do not come together.
#include <gtest/gtest.h>

#include "orrery/base/rng.hpp"
#include "orrery/workload/testing/replayed.hpp"

namespace orrery::workload {
namespace {

using namespace std::chrono_literals;
using collectives::Operation;
using test::replay;
using test::Replayed;

void expect_same(const Replayed& folded, const Replayed& plain, const std::string& where) {
  ASSERT_EQ(folded.ranks.size(), plain.ranks.size());
  for (std::size_t rank = 0; rank < plain.ranks.size(); ++rank) {
    const RankTimes& one = folded.ranks[rank];
    const RankTimes& other = plain.ranks[rank];
    EXPECT_EQ(one.finish, other.finish) << where << ", rank " << rank;
    EXPECT_EQ(one.communication, other.communication) << where << ", rank " << rank;
    EXPECT_EQ(one.exposed_communication, other.exposed_communication) << where << ", rank " << rank;
    EXPECT_EQ(one.waiting, other.waiting) << where << ", rank " << rank;
  }
  for (std::size_t link = 0; link < plain.links.size(); ++link) {
    EXPECT_EQ(folded.links[link].bytes, plain.links[link].bytes) << where << ", link " << link;
    EXPECT_EQ(folded.links[link].messages, plain.links[link].messages) << where << ", link " << link;
  }
  ASSERT_EQ(folded.collectives.size(), plain.collectives.size());
  for (std::size_t i = 0; i < plain.collectives.size(); ++i) {
    EXPECT_EQ(folded.collectives[i].wire_bytes, plain.collectives[i].wire_bytes) << where;
    EXPECT_EQ(folded.collectives[i].time, plain.collectives[i].time) << where;
  }
  EXPECT_EQ(plain.folded, 0U);
}

/// `skew` of 0 keeps the ranks together.
Workload steps(Operation operation, Bytes size, std::int64_t skew_us) {
  Rng rng{11, "steps"};
  std::vector<std::vector<Op>> ranks(8);
  for (std::uint64_t step = 0; step < 6; ++step) {
    const Duration common = 1us * rng.between(1, 900);
    for (std::vector<Op>& rank : ranks) {
      const std::vector<std::uint64_t> after =
          step == 0 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{2 * step};
      rank.push_back(
          test::compute(2 * step + 1, common + 1us * (skew_us == 0 ? 0 : rng.between(0, skew_us)), after));
      rank.push_back(test::collective(2 * step + 2, operation, size, {2 * step + 1}));
    }
  }
  return stored_workload("steps", ranks);
}

TEST(Folding, ChangesNothing) {
  std::uint64_t folded = 0;
  for (const char* const cluster :
       {"star:hosts=8,bandwidth=1GBps,latency=500ns", "ring:hosts=8,bandwidth=3GBps,latency=1us",
        "fattree:k=4,bandwidth=10GBps,latency=1us", "hgx-h100"}) {
    for (const char* const network : {"flow", "alpha_beta"}) {
      for (const Operation operation : {Operation::kAllReduce, Operation::kAllToAll, Operation::kAllGather,
                                        Operation::kBroadcast, Operation::kReduceScatter}) {
        for (const char* const algorithm : {"ring", "direct", "gloo"}) {
          for (const std::int64_t skew : {0, 50}) {
            const Workload workload = steps(operation, Bytes{1'234'567}, skew);
            test::Options options{.cluster = cluster, .network = network, .algorithm = algorithm};
            const Replayed with = replay(workload, options);
            options.folds = false;
            const Replayed without = replay(workload, options);
            expect_same(with, without,
                        fmt::format("{} {} {} {} skew {}", cluster, network, collectives::to_text(operation),
                                    algorithm, skew));
            folded += with.folded;
          }
        }
      }
    }
  }
  EXPECT_GT(folded, 100U);  // Else nothing was tested.
}

TEST(Folding, GroupsFoldWhereMessagesDoNotMeet) {
  std::vector<std::vector<Op>> ranks(8);
  Groups groups;
  for (Rank rank = 0; rank < 8; ++rank) {
    const std::string name = rank < 4 ? "low" : "high";
    groups[name].push_back(rank);
    for (std::uint64_t id = 1; id <= 8; ++id) {
      Op op = test::collective(id, Operation::kAllReduce, Bytes{rank < 4 ? 1000 : 5000});
      op.group = name;
      ranks[rank].push_back(op);
    }
  }
  const Workload workload = stored_workload("groups", ranks, groups);
  for (const char* const network : {"alpha_beta", "flow"}) {
    test::Options options{.network = network, .algorithm = "ring"};
    const Replayed with = replay(workload, options);
    options.folds = false;
    expect_same(with, replay(workload, options), network);
    EXPECT_EQ(with.folded, network == std::string{"flow"} ? 0U : 14U);
  }
}

TEST(Folding, NotWithStreamsThatLetCollectivesMeet) {
  std::vector<Op> rank;
  for (std::uint64_t id = 1; id <= 6; ++id) {
    rank.push_back(test::collective(id, Operation::kAllReduce, Bytes{4096}));
  }
  const Workload workload = stored_workload("many", std::vector<std::vector<Op>>(8, rank));
  EXPECT_EQ(replay(workload, {.streams = {.communication = 0}}).folded, 0U);
}

}  // namespace
}  // namespace orrery::workload
