// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/scratch_memory.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace orrery::live {
namespace {

constexpr std::int64_t kMegabyte = 1'000'000;

std::vector<std::int64_t> touched(ScratchMemory& memory, std::int64_t bytes, int times) {
  std::vector<std::int64_t> result;
  for (int i = 0; i < times; ++i) result.push_back(memory.touch(bytes) / kMegabyte);
  return result;
}

TEST(ScratchMemory, IsNewTwiceForEachThread) {
  ScratchMemory memory;
  EXPECT_EQ(touched(memory, kMegabyte, 6), (std::vector<std::int64_t>{1, 1, 1, 1, 0, 0}));
  EXPECT_EQ(touched(memory, kMegabyte / 2, 2), (std::vector<std::int64_t>{0, 0})) << "there is enough";
  EXPECT_EQ(touched(memory, 3 * kMegabyte, 6), (std::vector<std::int64_t>{3, 3, 3, 3, 0, 0}));
}

TEST(ScratchMemory, SmallBlocksAreThereAndLargeOnesAreInTheOperationsCost) {
  ScratchMemory memory;
  EXPECT_EQ(memory.touch(4096), 0);
  EXPECT_EQ(memory.touch(32 << 20), 0);
}

}  // namespace
}  // namespace orrery::live
