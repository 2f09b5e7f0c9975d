// SPDX-License-Identifier: Apache-2.0
// Law of every registered collective algorithm: what its schedules send is what its closed form says, for even
// layouts and for uneven ones in which some chunks are empty.
#include <gtest/gtest.h>

#include "orrery/base/rng.hpp"
#include "orrery/collectives/plan/plan_cases.hpp"

namespace orrery::collectives::plan {
namespace {

Bytes bytes_sent(const Schedule& schedule, const Layout& layout) {
  Bytes sum;
  for (Rank rank = 0; rank < schedule.participants(); ++rank) {
    for (std::uint32_t lane = 0; lane < schedule.lanes(rank); ++lane) {
      for (std::uint64_t index = 0; index < schedule.length(rank, lane); ++index) {
        const Action action = schedule.action(rank, lane, index);
        if (action.kind == ActionKind::kSend) sum += layout.bytes(action.chunks, schedule.chunk_list());
      }
    }
  }
  return sum;
}

Layout uneven(std::uint32_t chunks, Rng& rng) {
  std::vector<Bytes> sizes;
  for (std::uint32_t chunk = 0; chunk < chunks; ++chunk) {
    const bool is_empty = rng.between(0, 3) == 0;
    sizes.emplace_back(is_empty ? 0 : rng.between(1, 1'000'000));
  }
  return Layout{sizes};
}

class WireBytes : public testing::TestWithParam<std::string> {};

TEST_P(WireBytes, AreWhatTheScheduleSends) {
  const AlgorithmRegistry registry = builtin_algorithms();
  const Algorithm& algorithm = registry.get(GetParam());
  Rng rng{7, GetParam(), "layouts"};
  for (const Rank ranks : {1U, 2U, 3U, 4U, 5U, 6U, 7U, 8U, 12U, 16U, 17U, 30U, 32U, 33U}) {
    for (const PlanRequest& request : plan_cases(ranks)) {
      if (!algorithm.refusal(request).empty()) continue;
      const auto schedule = algorithm.plan(request);
      const Layout even = Layout::even(Bytes{1'000'003}, schedule->chunk_count());
      ASSERT_EQ(bytes_sent(*schedule, even).count(), algorithm.wire_bytes(request, even).count())
          << to_text(request);
      const Layout mixed = uneven(schedule->chunk_count(), rng);
      ASSERT_EQ(bytes_sent(*schedule, mixed).count(), algorithm.wire_bytes(request, mixed).count())
          << to_text(request);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Builtin, WireBytes, testing::ValuesIn(algorithm_names()),
                         [](const auto& instance) { return instance.param; });

}  // namespace
}  // namespace orrery::collectives::plan
