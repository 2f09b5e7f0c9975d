// SPDX-License-Identifier: Apache-2.0
// Goal: the sums and the longest chain of a trace, whatever the order of its nodes and however small the window.
#include "orrery/app/trace_info.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/app/trace_path.hpp"
#include "orrery/testing/temporary_folder.hpp"

namespace orrery::app {
namespace {

using testing::HasSubstr;
using workload::Op;

Op op_of(std::uint64_t id, std::int64_t ps, std::vector<std::uint64_t> deps) {
  Op op;
  op.id = id;
  op.kind = workload::OpKind::kCompute;
  op.recorded = picoseconds(ps);
  op.flops = static_cast<std::uint64_t>(ps) * 2;
  op.data_deps = std::move(deps);
  return op;
}

TEST(TracePath, LongestChainInAnyOrder) {
  //  1(10) -> 2(20) -> 4(5); 3(40) -> 4; 5(1) alone.
  const std::vector<Op> ops{op_of(1, 10, {}), op_of(2, 20, {1}), op_of(3, 40, {}), op_of(4, 5, {2, 3}),
                            op_of(5, 1, {})};
  for (const std::vector<std::size_t>& order :
       std::vector<std::vector<std::size_t>>{{0, 1, 2, 3, 4}, {4, 3, 2, 1, 0}, {3, 1, 0, 2, 4}}) {
    TracePath path;
    for (const std::size_t i : order) path.add(ops[i]);
    EXPECT_EQ(path.longest().time, picoseconds(45));
    EXPECT_EQ(path.longest().flops, 90U);
    EXPECT_EQ(path.longest().ops, 3U);
    EXPECT_TRUE(path.is_exact());
    EXPECT_EQ(path.stuck(), 0U);
  }
}

TEST(TracePath, BehindTheWindowIsALowerBound) {
  TracePath path{16};
  for (std::uint64_t i = 0; i < 1000; ++i) {
    path.add(op_of(i, 1, i == 0 ? std::vector<std::uint64_t>{} : std::vector<std::uint64_t>{i - 1}));
  }
  EXPECT_EQ(path.longest().ops, 1000U);  // Each reaches back by one.
  EXPECT_TRUE(path.is_exact());
  path.add(op_of(1000, 1, {3}));
  EXPECT_FALSE(path.is_exact());
  EXPECT_EQ(path.longest().ops, 1000U);
}

TEST(TracePath, WhatNeverComesIsCounted) {
  TracePath path;
  path.add(op_of(1, 1, {2}));
  path.add(op_of(2, 1, {1}));
  path.add(op_of(3, 1, {99}));
  path.add(op_of(4, 7, {}));
  EXPECT_EQ(path.stuck(), 3U);
  EXPECT_EQ(path.longest().time, picoseconds(7));
}

TEST(WideSum, CarriesPastSixtyFourBits) {
  WideSum sum{~std::uint64_t{0}};
  EXPECT_TRUE(sum.fits());
  sum += 1;
  EXPECT_FALSE(sum.fits());
  EXPECT_EQ(sum.to_double(), 18446744073709551616.0);
  EXPECT_GT(sum, WideSum{~std::uint64_t{0}});
}

TEST(TraceInfos, SumsPerRankAndInTotal) {
  const orrery::test::TemporaryFolder folder;
  const std::string nodes = R"({"nodes": [
{"id": 1, "name": "m", "type": "COMP_NODE", "duration_micros": 3, "attr": [{"name": "num_ops", "int64_val": 500}]},
{"id": 2, "type": "COMP_NODE", "duration_micros": 4, "data_deps": [1],
 "attr": [{"name": "is_cpu_op", "bool_val": true}]},
{"id": 3, "type": "COMM_COLL_NODE", "ctrl_deps": [1],
 "attr": [{"name": "comm_type", "int32_val": 2}, {"name": "comm_size", "uint32_val": 1024}]},
{"id": 4, "type": "COMM_SEND_NODE"}]})";
  folder.write("t.0.json", nodes);
  folder.write("t.1.json", nodes);
  const TraceInfo info = trace_info(folder.path("t"));
  ASSERT_EQ(info.ranks.size(), 2U);
  const TraceSums& sums = info.ranks[1].sums;
  EXPECT_EQ(sums.nodes, 4U);
  EXPECT_EQ(sums.flops, WideSum{500});
  EXPECT_EQ(sums.compute_ps, WideSum{3'000'000});
  EXPECT_EQ(sums.host_ps, WideSum{4'000'000});
  EXPECT_EQ(sums.collectives.at("all_gather").bytes, WideSum{1024});
  EXPECT_EQ(sums.unclear, 1U);
  EXPECT_EQ(info.totals.nodes, 8U);
  EXPECT_EQ(info.totals.types.at("COMP_NODE"), 4U);
  EXPECT_EQ(info.ranks[0].path.time, picoseconds(7'000'000));
  ASSERT_EQ(info.warnings.size(), 2U);
  EXPECT_THAT(info.warnings[0], HasSubstr("node 4 '': comm_dst: missing"));
  EXPECT_EQ(trace_info(folder.path("t")).digest, info.digest);
}

}  // namespace
}  // namespace orrery::app
