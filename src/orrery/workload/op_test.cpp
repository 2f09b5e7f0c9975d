// SPDX-License-Identifier: Apache-2.0
#include "orrery/workload/op.hpp"

#include <gtest/gtest.h>

namespace orrery::workload {
namespace {

TEST(Op, ClearedIsLikeNew) {
  Op op;
  op.id = 7;
  op.kind = OpKind::kSend;
  op.name = "send";
  op.data_deps = {1, 2};
  op.group = "tp";
  op.dims = {true};
  op.size = Bytes{5};
  op.clear();
  EXPECT_EQ(op.id, 0U);
  EXPECT_EQ(op.kind, OpKind::kNone);
  EXPECT_TRUE(op.name.empty() && op.data_deps.empty() && op.group.empty() && op.dims.empty());
  EXPECT_EQ(op.size, Bytes{0});
}

TEST(StoredWorkload, EveryPassSeesEveryOp) {
  Op first;
  first.id = 1;
  Op second;
  second.id = 2;
  const Workload workload = stored_workload("two", {{first, second}, {}});
  ASSERT_EQ(workload.ranks, 2U);
  for (int pass = 0; pass < 2; ++pass) {
    const auto source = workload.open(0);
    Op op;
    ASSERT_TRUE(source->next(op));
    EXPECT_EQ(op.id, 1U);
    ASSERT_TRUE(source->next(op));
    EXPECT_EQ(op.id, 2U);
    EXPECT_FALSE(source->next(op));
  }
  Op op;
  EXPECT_FALSE(workload.open(1)->next(op));
}

}  // namespace
}  // namespace orrery::workload
