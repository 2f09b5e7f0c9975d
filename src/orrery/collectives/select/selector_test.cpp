// SPDX-License-Identifier: Apache-2.0
#include "orrery/collectives/select/selector.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/collectives/select/aggregation.hpp"
#include "orrery/collectives/select/gloo.hpp"
#include "orrery/topology/catalog.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::collectives {
namespace {

class SelectorTest : public testing::Test {
 protected:
  std::vector<Choice> choose(const std::string& cluster_text, const std::string& selection,
                             CollectiveRequest request) {
    cluster_ = std::make_unique<topology::Cluster>(topology::load_cluster(cluster_text));
    router_ = std::make_unique<topology::Router>(cluster_->graph);
    ranks_.resize(cluster_->ranks.size());
    for (Rank rank = 0; rank < ranks_.size(); ++rank) ranks_[rank] = rank;
    return select(selection, request,
                  {*cluster_, *router_, algorithms_, cluster_->ranks, ranks_, topology::catalog_directory()});
  }
  std::string error_of(const std::string& cluster_text, const std::string& selection,
                       CollectiveRequest request) {
    try {
      static_cast<void>(choose(cluster_text, selection, std::move(request)));
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }
  const AlgorithmRegistry algorithms_ = builtin_algorithms();
  std::unique_ptr<topology::Cluster> cluster_;
  std::unique_ptr<topology::Router> router_;
  std::vector<Rank> ranks_;
};

constexpr const char* kStar = "star:hosts=6,bandwidth=10GBps,latency=1us";

TEST_F(SelectorTest, AllAreAbleAndInOrder) {
  std::vector<std::string> names;
  for (const Choice& choice : choose(kStar, "all", {.size = Bytes{1 << 20}})) {
    names.push_back(choice.algorithm);
  }
  EXPECT_THAT(names, testing::IsSupersetOf({"ring", "direct", "binomial_tree"}));
  EXPECT_THAT(names, testing::Not(testing::Contains("offload")));  // Plain switches do not reduce.
  EXPECT_EQ(choose(kStar, "offload", {.operation = Operation::kAllReduce, .size = Bytes{8}}).size(), 1U);
  EXPECT_THAT(names, testing::Not(testing::Contains("hierarchical")));  // One tier: there is no grid.
}

TEST_F(SelectorTest, NamesAreChecked) {
  EXPECT_THAT(error_of(kStar, "rinng", {}), testing::HasSubstr("did you mean 'ring'"));
  EXPECT_THAT(error_of(kStar, "flat", {.operation = Operation::kAllReduce, .size = Bytes{8}}),
              testing::HasSubstr("cannot run all_reduce on 6 ranks"));
  EXPECT_THAT(error_of(kStar, "nccl", {}), testing::HasSubstr("names no NCCL platform"));
}

TEST_F(SelectorTest, GlooRunsWhatTorchRuns) {
  EXPECT_EQ(choose(kStar, "gloo", {.operation = Operation::kBroadcast, .size = Bytes{8}})[0].algorithm,
            "binomial_tree");
  const Choice ring = choose(kStar, "gloo", {.operation = Operation::kAllReduce, .size = Bytes{60 << 20}})[0];
  EXPECT_EQ(ring.request.pieces, 10U);
  EXPECT_EQ(ring.request.window, 2U);
}

TEST_F(SelectorTest, SwitchesOfATreeAggregate) {
  const topology::Cluster cluster =
      topology::load_cluster("fattree:k=4,levels=3,bandwidth=10GBps,latency=1us");
  topology::Router router{cluster.graph};
  const Aggregation found = find_aggregation(router, cluster.ranks);
  ASSERT_EQ(found.tree.parent.size(), found.nodes.size());
  std::size_t roots = 0;
  for (Rank participant = 0; participant < found.nodes.size(); ++participant) {
    roots += found.tree.parent[participant] == participant ? 1U : 0U;
    Rank at = participant;
    for (int climb = 0; climb < 10; ++climb) at = found.tree.parent[at];
    EXPECT_EQ(at, found.tree.parent[at]);  // Everyone ends at the root.
  }
  EXPECT_EQ(roots, 1U);
}

TEST_F(SelectorTest, LayoutsCutBlocksEvenly) {
  const std::unique_ptr<Schedule> schedule =
      algorithms_.get("direct").plan({.operation = Operation::kAllToAll, .ranks = 3});
  const Layout layout =
      layout_of({.operation = Operation::kAllToAll, .size = Bytes{40}, .element = Bytes{4}}, *schedule);
  std::int64_t first_row = 0;
  for (std::uint32_t chunk = 0; chunk < 3; ++chunk) first_row += layout.bytes({chunk, 1}, {}).count();
  EXPECT_EQ(first_row, 40);
  EXPECT_EQ(layout.bytes({0, 1}, {}), Bytes{16});
  EXPECT_EQ(layout.bytes({1, 1}, {}), Bytes{12});
}

TEST_F(SelectorTest, BusFactorsAreThoseOfNcclTests) {
  EXPECT_DOUBLE_EQ(bus_factor(Operation::kAllReduce, 8), 1.75);
  EXPECT_DOUBLE_EQ(bus_factor(Operation::kAllGather, 8), 0.875);
  EXPECT_DOUBLE_EQ(bus_factor(Operation::kBroadcast, 8), 1);
}

}  // namespace
}  // namespace orrery::collectives
