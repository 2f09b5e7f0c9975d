// SPDX-License-Identifier: Apache-2.0
// Goal: every allocation is max-min fair, whatever the history. Method: hand-made systems with known shares,
// then ten thousand random ones checked by the bottleneck condition, which proves optimality.
#include "orrery/network/sharing.hpp"

#include <gtest/gtest.h>

#include <algorithm>

#include "orrery/base/rng.hpp"

namespace orrery::network {
namespace {

using Path = std::vector<std::uint32_t>;

TEST(Sharing, TheClassicLine) {
  // One long flow over two links, one short flow on each: C0 = 10, C1 = 4 gives 2, 8, 2.
  Sharing sharing{2};
  sharing.set_capacity(0, 10);
  sharing.set_capacity(1, 4);
  const std::uint32_t both = sharing.add(Path{0, 1});
  const std::uint32_t first = sharing.add(Path{0});
  const std::uint32_t second = sharing.add(Path{1});
  EXPECT_EQ(sharing.solve().size(), 3U);
  EXPECT_DOUBLE_EQ(sharing.rate(both), 2);
  EXPECT_DOUBLE_EQ(sharing.rate(first), 8);
  EXPECT_DOUBLE_EQ(sharing.rate(second), 2);
  sharing.remove(second);
  sharing.solve();
  EXPECT_DOUBLE_EQ(sharing.rate(both), 4);
  EXPECT_DOUBLE_EQ(sharing.rate(first), 6);
}

TEST(Sharing, ADeadLinkStopsItsFlowsAlone) {
  Sharing sharing{2};
  sharing.set_capacity(0, 10);
  sharing.set_capacity(1, 10);
  const std::uint32_t a = sharing.add(Path{0});
  const std::uint32_t b = sharing.add(Path{0, 1});
  sharing.solve();
  sharing.set_capacity(1, 0);
  sharing.solve();
  EXPECT_DOUBLE_EQ(sharing.rate(b), 0);
  EXPECT_DOUBLE_EQ(sharing.rate(a), 10);
}

TEST(Sharing, FlowsEqualBySymmetryHaveBitwiseEqualRates) {
  constexpr std::uint32_t kHosts = 13;
  Sharing sharing{2 * kHosts};
  for (std::uint32_t link = 0; link < 2 * kHosts; ++link) sharing.set_capacity(link, 0.1 / 3);
  std::vector<std::uint32_t> flows;
  for (std::uint32_t i = 0; i < kHosts; ++i) {
    for (std::uint32_t j = 0; j < kHosts; ++j) {
      if (i != j) flows.push_back(sharing.add(Path{i, kHosts + j}));
    }
  }
  sharing.solve();
  for (const std::uint32_t flow : flows) EXPECT_EQ(sharing.rate(flow), sharing.rate(flows[0]));
}

Path random_path(Rng& rng, std::uint32_t links) {
  Path path;
  const std::int64_t length = rng.between(1, std::min<std::int64_t>(6, links));
  while (static_cast<std::int64_t>(path.size()) < length) {
    const auto link = static_cast<std::uint32_t>(rng.between(0, links - 1));
    if (std::ranges::find(path, link) == path.end()) path.push_back(link);
  }
  return path;
}

double random_capacity(Rng& rng) {
  // Few distinct values make ties likely; a wide range makes magnitudes differ.
  return rng.between(0, 1) == 0 ? static_cast<double>(rng.between(1, 4)) : 1e-6 + 1e6 * rng.uniform();
}

TEST(Sharing, TenThousandRandomSystemsAreCertifiedOptimal) {
  for (std::uint64_t seed = 0; seed < 10'000; ++seed) {
    Rng rng{seed, "sharing"};
    const auto links = static_cast<std::uint32_t>(rng.between(1, 20));
    Sharing sharing{links};
    for (std::uint32_t link = 0; link < links; ++link) sharing.set_capacity(link, random_capacity(rng));
    std::vector<std::uint32_t> live;
    const std::int64_t changes = rng.between(1, 12);
    for (std::int64_t change = 0; change < changes; ++change) {
      const std::int64_t adds = rng.between(0, 10);
      for (std::int64_t i = 0; i < adds; ++i) live.push_back(sharing.add(random_path(rng, links)));
      const std::int64_t removes = rng.between(0, 4);
      for (std::int64_t i = 0; i < removes && !live.empty(); ++i) {
        std::swap(live[static_cast<std::size_t>(rng.between(0, static_cast<std::int64_t>(live.size()) - 1))],
                  live.back());
        sharing.remove(live.back());
        live.pop_back();
      }
      if (rng.between(0, 3) == 0) {
        sharing.set_capacity(static_cast<std::uint32_t>(rng.between(0, links - 1)), random_capacity(rng));
      }
      sharing.solve();
      ASSERT_LT(sharing.certificate_error(), 1e-9) << "seed " << seed << ", change " << change;
    }
  }
}

TEST(Sharing, PruningVisitsLessThanEverything) {
  // Two slow flows pinned on a thin link stay frozen while fast ones come and go.
  Sharing sharing{3};
  sharing.set_capacity(0, 1);
  sharing.set_capacity(1, 100);
  sharing.set_capacity(2, 100);
  sharing.add(Path{0, 1});
  sharing.add(Path{0, 1});
  sharing.solve();
  const std::uint32_t fast = sharing.add(Path{1, 2});
  EXPECT_EQ(sharing.solve().size(), 1U);
  EXPECT_DOUBLE_EQ(sharing.rate(fast), 99);
}

}  // namespace
}  // namespace orrery::network
