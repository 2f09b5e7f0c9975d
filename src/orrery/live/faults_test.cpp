// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/faults.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <fstream>

#include "orrery/base/error.hpp"
#include "orrery/topology/load_cluster.hpp"

namespace orrery::live {
namespace {

class FaultsTest : public testing::Test {
 protected:
  ~FaultsTest() override { std::remove(path_.c_str()); }
  Faults read(const std::string& text) {
    std::ofstream{path_} << text;
    return read_faults(path_, cluster_);
  }
  std::string problem(const std::string& text) {
    try {
      static_cast<void>(read(text));
    } catch (const InputError& error) {
      return error.what();
    }
    return "no error";
  }
  std::string path_ = testing::TempDir() + "orrery_faults_" +
                      testing::UnitTest::GetInstance()->current_test_info()->name() + ".yaml";
  topology::Cluster cluster_ = topology::load_cluster("star:hosts=4,bandwidth=1Gbps,latency=1us");
};

TEST_F(FaultsTest, AreReadInTheOrderOfTime) {
  const Faults faults = read("- {at: 2s, crash: 3}\n- {at: 1s, slow: 2, by: 4, for: 500ms}\n");
  ASSERT_EQ(faults.ranks.size(), 3U);
  EXPECT_EQ(faults.ranks[0].rank, 2U);
  EXPECT_EQ(faults.ranks[0].factor, 4.0);
  EXPECT_EQ(faults.ranks[1].at, Time{std::chrono::milliseconds{1500}});
  EXPECT_EQ(faults.ranks[1].factor, 1.0) << "the end of the slow stretch";
  EXPECT_TRUE(faults.ranks[2].is_crash);
}

TEST_F(FaultsTest, LinksByPatternBothWaysOrOne) {
  const std::string name{cluster_.graph.name(cluster_.ranks[0])};
  EXPECT_EQ(read("- {at: 1s, link: \"" + name + " - *\", state: down}\n").links.size(), 2U);
  EXPECT_EQ(read("- {at: 1s, link: \"" + name + " -> *\", bandwidth: 1Mbps}\n").links.size(), 1U);
  const Faults ended = read("- {at: 1s, link: \"" + name + " -> *\", state: down, for: 1ms}\n");
  ASSERT_EQ(ended.links.size(), 2U);
  EXPECT_EQ(ended.links[0].up, false);
  EXPECT_EQ(ended.links[1].up, true);
}

TEST_F(FaultsTest, ANameWithoutANumberStandsForAll) {
  const std::string name{cluster_.graph.name(cluster_.ranks[0])};
  const std::string all = name.substr(0, name.rfind('['));
  EXPECT_EQ(read("- {at: 1s, link: \"" + name + " - switch\", state: down}\n").links.size(), 2U);
  EXPECT_EQ(read("- {at: 1s, link: \"" + all + " -> switch\", state: down}\n").links.size(), 4U);
}

TEST_F(FaultsTest, MistakesAreNamed) {
  using testing::HasSubstr;
  EXPECT_THAT(problem("- {crash: 1}\n"), HasSubstr("required key 'at' is missing"));
  EXPECT_THAT(problem("- {at: 1s}\n"), HasSubstr("exactly one of: crash, slow, link"));
  EXPECT_THAT(problem("- {at: 1s, crash: 1, slow: 2, by: 2}\n"), HasSubstr("exactly one of"));
  EXPECT_THAT(problem("- {at: 1s, crash: 4}\n"), HasSubstr("has ranks 0 to 3"));
  EXPECT_THAT(problem("- {at: 1s, slow: 1}\n"), HasSubstr("'by' is missing"));
  EXPECT_THAT(problem("- {at: 1s, link: host, state: down}\n"), HasSubstr("expected two ends"));
  EXPECT_THAT(problem("- {at: 1s, link: \"a - b\", state: down}\n"), HasSubstr("no such link"));
  EXPECT_THAT(problem("- {at: 1s, link: \"* - *\"}\n"), HasSubstr("expected a change"));
  EXPECT_THAT(problem("- {at: 1s, krash: 1}\n"), HasSubstr("crash"));
  EXPECT_THAT(problem("at: 1s\n"), HasSubstr("list"));
}

class Told final : public FaultClock::Target {
 public:
  void crash(std::uint32_t rank) override { said.push_back("crash " + std::to_string(rank)); }
  void slow(std::uint32_t rank, double factor) override {
    said.push_back("slow " + std::to_string(rank) + " " + std::to_string(static_cast<int>(factor)));
  }
  std::vector<std::string> said;
};

TEST_F(FaultsTest, HappenAtTheirTimes) {
  const Faults faults = read("- {at: 2s, crash: 3}\n- {at: 1s, slow: 2, by: 4}\n");
  engine::Engine engine;
  Told told;
  const FaultClock clock{engine, faults.ranks, 4, told};
  engine.run();
  EXPECT_THAT(told.said, testing::ElementsAre("slow 2 4", "crash 3"));
  EXPECT_EQ(engine.now(), Time{std::chrono::seconds{2}});
}

}  // namespace
}  // namespace orrery::live
