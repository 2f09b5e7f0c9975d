// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/arena.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <new>
#include <set>

namespace orrery::live {
namespace {

TEST(Arena, IsSeenByWhoeverOpensIt) {
  Arena ours = Arena::create(2);
  const Arena theirs = Arena::open(ours.descriptor());
  EXPECT_EQ(theirs.parts(), 2U);
  ArenaHeap heap{ours, 1};
  void* const memory = heap.allocate(100, 100);
  std::memcpy(memory, "tensor", 7);
  EXPECT_STREQ(&theirs.get<char>(ours.offset_of(memory)), "tensor");
  EXPECT_GT(ours.offset_of(memory), static_cast<std::int64_t>(kArenaPart)) << "part 1 begins after part 0";
}

TEST(Arena, RefusesWhatIsNoArena) { EXPECT_THROW(static_cast<void>(Arena::open(0)), std::system_error); }

TEST(Arena, KnowsWhatLiesInside) {
  const Arena arena = Arena::create(1);
  const auto end = static_cast<std::int64_t>(kArenaPart);
  EXPECT_TRUE(arena.holds(64, 100));
  EXPECT_FALSE(arena.holds(0, 1)) << "0 is no offset";
  EXPECT_FALSE(arena.holds(-5, 1));
  EXPECT_FALSE(arena.holds(end - 10, 11));
  EXPECT_FALSE(arena.holds(64, ~std::size_t{0}));
}

TEST(ArenaHeap, GivesZeroedAlignedBlocksThatDoNotOverlap) {
  Arena arena = Arena::create(1);
  ArenaHeap heap{arena, 0};
  std::set<std::pair<std::int64_t, std::int64_t>> taken;
  for (const std::size_t bytes : {1UL, 63UL, 64UL, 1000UL, 5000UL, 100'000UL, 3'000'000UL}) {
    auto* const memory = static_cast<unsigned char*>(heap.allocate(bytes, bytes));
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(memory) % 64, 0U);
    EXPECT_EQ(memory[0], 0);
    EXPECT_EQ(memory[bytes - 1], 0);
    std::memset(memory, 0xFF, bytes);
    const std::int64_t begin = arena.offset_of(memory);
    const std::int64_t end = begin + static_cast<std::int64_t>(bytes);
    for (const auto& [first, last] : taken) EXPECT_TRUE(begin >= last || end <= first);
    taken.emplace(begin, end);
  }
}

TEST(ArenaHeap, ReusesWhatNobodyUses) {
  Arena arena = Arena::create(1);
  ArenaHeap heap{arena, 0};
  std::set<void*> places;
  for (int i = 0; i < 10'000; ++i) {
    void* const memory = heap.allocate(1000, 8);
    places.insert(memory);
    ArenaHeap::release(memory);
  }
  EXPECT_LT(places.size(), 200U) << "ten thousand short-lived blocks need few places";
}

TEST(ArenaHeap, KeepsWhatSomebodyStillUses) {
  Arena arena = Arena::create(1);
  ArenaHeap heap{arena, 0};
  void* const kept = heap.allocate(1000, 1000);
  ArenaHeap::block_of(kept).users.store(2);
  ArenaHeap::release(kept);  // One user is left.
  for (int i = 0; i < 1000; ++i) {
    void* const other = heap.allocate(1000, 8);
    ASSERT_NE(other, kept);
    ArenaHeap::release(other);
  }
}

TEST(ArenaHeap, LargeBlocksAreReusedAndAFullPartIsAnError) {
  Arena arena = Arena::create(1);
  ArenaHeap heap{arena, 0};
  constexpr std::size_t kLarge = std::size_t{20} << 30;  // Address space only: nothing is touched.
  for (int i = 0; i < 10; ++i) ArenaHeap::release(heap.allocate(kLarge, 0));
  static_cast<void>(heap.allocate(kLarge, 0));
  static_cast<void>(heap.allocate(kLarge, 0));
  EXPECT_THROW(static_cast<void>(heap.allocate(2 * kLarge, 0)), std::bad_alloc);
}

}  // namespace
}  // namespace orrery::live
