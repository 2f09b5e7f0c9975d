// SPDX-License-Identifier: Apache-2.0
// Goal: memory over time follows from what operations read and write, and when they ran.
// Method: lives that can be drawn by hand.
#include "orrery/workload/memory_use.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::workload {
namespace {

using namespace std::chrono_literals;
using testing::ElementsAre;
using testing::IsEmpty;

constexpr Time at(Duration time) { return Time{time}; }

class MemoryUseTest : public testing::Test {
 protected:
  void run(std::uint64_t id, Duration begin, Duration end, std::vector<TensorUse> tensors) {
    Op op;
    op.id = id;
    op.tensors = std::move(tensors);
    memory_.expect(0, op);
    memory_.finish(0, id, at(begin), at(end));
  }
  MemoryUse memory_{2};
};

TEST_F(MemoryUseTest, ATensorLivesFromItsWriterToItsLastReader) {
  run(1, 1ms, 2ms, {{"x", Bytes{10}, true}});
  run(2, 2ms, 3ms, {{"x", Bytes{10}, false}, {"y", Bytes{4}, true}});
  run(3, 5ms, 6ms, {{"x", Bytes{10}, false}});
  EXPECT_THAT(memory_.steps(0), ElementsAre(MemoryStep{at(1ms), Bytes{10}}, MemoryStep{at(2ms), Bytes{14}},
                                            MemoryStep{at(6ms), Bytes{4}}));  // y is a result.
  EXPECT_THAT(memory_.steps(1), IsEmpty());
}

TEST_F(MemoryUseTest, WhatIsReadFirstWasThereFromTheStart) {
  run(1, 3ms, 4ms, {{"weights", Bytes{100}, false}, {"weights", Bytes{100}, true}});
  EXPECT_THAT(memory_.steps(0), ElementsAre(MemoryStep{at(0ms), Bytes{100}}, MemoryStep{at(4ms), Bytes{0}}));
}

TEST_F(MemoryUseTest, WhatEndsMakesRoomForWhatBegins) {
  run(1, 0ms, 1ms, {{"a", Bytes{8}, true}});
  run(2, 1ms, 2ms, {{"a", Bytes{8}, false}});
  run(3, 2ms, 3ms, {{"b", Bytes{8}, true}});
  EXPECT_THAT(memory_.steps(0), ElementsAre(MemoryStep{at(0ms), Bytes{8}}));
}

TEST_F(MemoryUseTest, AStorageIsAsLargeAsItsLargestUse) {
  run(1, 0ms, 1ms, {{"s", Bytes{8}, true}});
  run(2, 1ms, 2ms, {{"s", Bytes{32}, false}});
  EXPECT_EQ(memory_.steps(0).front().bytes, Bytes{32});
}

TEST_F(MemoryUseTest, WhoEndsFirstNeedNotHaveBegunFirst) {
  run(2, 5ms, 6ms, {{"s", Bytes{8}, true}});
  run(1, 1ms, 10ms, {{"s", Bytes{8}, true}});
  EXPECT_THAT(memory_.steps(0), ElementsAre(MemoryStep{at(1ms), Bytes{8}}));
}

TEST_F(MemoryUseTest, OperationsWithoutTensorsSayNothing) {
  run(1, 0ms, 1ms, {});
  EXPECT_THAT(memory_.steps(0), IsEmpty());
}

}  // namespace
}  // namespace orrery::workload
