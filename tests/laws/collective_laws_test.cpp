// SPDX-License-Identifier: Apache-2.0
// Goal: every registered algorithm runs to its end over every network model, on groups of any size.
#include <fmt/format.h>

#include <set>

#include "laws/laws.hpp"
#include "orrery/app/collective.hpp"
#include "orrery/base/error.hpp"
#include "orrery/collectives/algorithm.hpp"

namespace orrery {
namespace {

using collectives::Operation;

class CollectiveLaws : public testing::TestWithParam<std::string> {};

app::CollectiveResult run(Operation operation, int ranks, const std::string& network,
                          const std::string& size) {
  app::CollectiveOptions options;
  options.operation = to_text(operation);
  options.cluster = fmt::format("star:hosts={},bandwidth=10Gbps,latency=1us", ranks);
  options.network = network;
  options.algorithm = "all";
  options.size = size;
  options.skew = "2us";
  return app::collective(options);
}

TEST_P(CollectiveLaws, EveryAlgorithmEnds) {
  std::set<std::string> seen;
  for (std::size_t i = 0; i < collectives::kOperationCount; ++i) {
    const auto operation = static_cast<Operation>(i);
    const bool is_pair = operation == Operation::kSendReceive;
    for (const int ranks : is_pair ? std::vector<int>{2} : std::vector<int>{1, 2, 3, 4, 6, 8}) {
      const app::CollectiveResult result = run(operation, ranks, GetParam(), "0B,1B,1000B,100kB");
      ASSERT_FALSE(result.rows.empty()) << to_text(operation) << " on " << ranks;
      for (const app::CollectiveRow& row : result.rows) {
        seen.insert(row.schedule);
        if (ranks > 1 && row.size_bytes >= 1000) {
          EXPECT_GT(row.time_ps, 0) << row.operation << " by " << row.algorithm << " on " << ranks;
          EXPECT_GT(row.messages, 0U) << row.operation << " by " << row.algorithm << " on " << ranks;
        }
      }
    }
  }
  // On a star nobody is nearer than others; some algorithms need hosts with several ranks each.
  app::CollectiveOptions hosts;
  hosts.operation = "all_reduce";
  hosts.cluster = "hgx-h100x4";
  hosts.network = GetParam();
  hosts.algorithm = "all";
  hosts.size = "64KiB";
  for (const app::CollectiveRow& row : app::collective(hosts).rows) seen.insert(row.schedule);
  const collectives::AlgorithmRegistry registry = collectives::builtin_algorithms();
  for (const collectives::Algorithm& algorithm : registry.all()) {
    EXPECT_TRUE(seen.contains(algorithm.name)) << algorithm.name << " was never run";
  }
}

TEST_P(CollectiveLaws, TwiceTheSame) {
  const app::CollectiveResult first = run(Operation::kAllReduce, 5, GetParam(), "1KiB,64KiB");
  const app::CollectiveResult second = run(Operation::kAllReduce, 5, GetParam(), "1KiB,64KiB");
  EXPECT_EQ(app::to_json(first), app::to_json(second));
}

INSTANTIATE_TEST_SUITE_P(Builtin, CollectiveLaws, testing::ValuesIn(laws::networks()), laws::test_name);

}  // namespace
}  // namespace orrery
