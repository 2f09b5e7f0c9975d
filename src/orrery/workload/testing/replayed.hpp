// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Workloads in a line, and running one in a line, for tests.
#include <string>
#include <vector>

#include "orrery/workload/executor.hpp"

namespace orrery::workload::test {

[[nodiscard]] Op compute(std::uint64_t id, Duration recorded, std::vector<std::uint64_t> deps = {});
[[nodiscard]] Op collective(std::uint64_t id, collectives::Operation operation, Bytes size = Bytes{},
                            std::vector<std::uint64_t> deps = {});
[[nodiscard]] Op send(std::uint64_t id, Rank to, Bytes size, std::int64_t tag = 0,
                      std::vector<std::uint64_t> deps = {});
[[nodiscard]] Op receive(std::uint64_t id, Rank from, Bytes size, std::int64_t tag = 0,
                         std::vector<std::uint64_t> deps = {});

struct Options {
  std::string cluster = "star:hosts=8,bandwidth=1GBps,latency=500us";
  std::string network = "flow";
  Streams streams{};
  std::string algorithm = "gloo";
  std::string compute = "recorded";
  Bytes eager_limit{};
  std::size_t window = 0;
  bool folds = true;
};

struct Replayed {
  Time total{};
  std::vector<RankTimes> ranks;
  std::vector<std::uint64_t> order;  ///< Ids in the order of their ends, all ranks.
  std::vector<CollectiveTotal> collectives;
  std::vector<network::LinkCounters> links;
  std::uint64_t digest = 0;
  std::uint64_t folded = 0;
};

[[nodiscard]] Replayed replay(const Workload& workload, const Options& options = {});

}  // namespace orrery::workload::test
