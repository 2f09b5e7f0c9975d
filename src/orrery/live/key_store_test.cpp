// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/key_store.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

#include "orrery/live/rank/orrery_rank.h"

namespace orrery::live {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

std::string raw(std::int64_t value) {
  std::string text(sizeof value, '\0');
  std::memcpy(text.data(), &value, sizeof value);
  return text;
}
const std::string kYes(1, '\1');
const std::string kNo(1, '\0');

class KeyStoresTest : public testing::Test {
 protected:
  /// Asks the store "s"; the reply to `rank`, or a mark that it waits.
  KeyStores::Parts ask(std::uint32_t rank, std::uint32_t operation, KeyStores::Parts arguments) {
    arguments.insert(arguments.begin(), "s");
    replies_.erase(rank);
    EXPECT_TRUE(stores_.ask(rank, operation, arguments));
    return reply(rank);
  }
  KeyStores::Parts reply(std::uint32_t rank) {
    const auto found = replies_.find(rank);
    return found == replies_.end() ? KeyStores::Parts{"(waits)"} : found->second;
  }
  std::map<std::uint32_t, KeyStores::Parts> replies_;
  KeyStores stores_{[this](std::uint32_t rank, const KeyStores::Parts& reply) { replies_[rank] = reply; }};
};

TEST_F(KeyStoresTest, GetWaitsForSet) {
  EXPECT_THAT(ask(0, ORRERY_STORE_GET, {"k"}), ElementsAre("(waits)"));
  EXPECT_THAT(stores_.describe(0), testing::HasSubstr("'k'"));
  EXPECT_THAT(ask(1, ORRERY_STORE_SET, {"k", "v"}), IsEmpty());
  EXPECT_THAT(reply(0), ElementsAre("v"));
  EXPECT_EQ(stores_.describe(0), "");
}

TEST_F(KeyStoresTest, StoresAreApart) {
  EXPECT_TRUE(stores_.ask(0, ORRERY_STORE_SET, {"other", "k", "v"}));
  EXPECT_THAT(ask(1, ORRERY_STORE_CHECK, {"k"}), ElementsAre(kNo));
}

TEST_F(KeyStoresTest, CountersAreTextToGet) {
  EXPECT_THAT(ask(0, ORRERY_STORE_ADD, {"n", raw(5)}), ElementsAre(raw(5)));
  EXPECT_THAT(ask(0, ORRERY_STORE_ADD, {"n", raw(-2)}), ElementsAre(raw(3)));
  EXPECT_THAT(ask(0, ORRERY_STORE_GET, {"n"}), ElementsAre("3"));
}

TEST_F(KeyStoresTest, WaitNeedsAllKeys) {
  EXPECT_THAT(ask(0, ORRERY_STORE_WAIT, {"a", "b"}), ElementsAre("(waits)"));
  ask(1, ORRERY_STORE_SET, {"a", ""});
  EXPECT_THAT(reply(0), ElementsAre("(waits)"));
  ask(1, ORRERY_STORE_SET, {"b", ""});
  EXPECT_THAT(reply(0), IsEmpty());
}

TEST_F(KeyStoresTest, CompareSet) {
  EXPECT_THAT(ask(0, ORRERY_STORE_COMPARE_SET, {"k", "x", "y"}), ElementsAre("x"))
      << "absent, and expected otherwise";
  EXPECT_THAT(ask(0, ORRERY_STORE_COMPARE_SET, {"k", "", "y"}), ElementsAre("y")) << "absent, as expected";
  EXPECT_THAT(ask(0, ORRERY_STORE_COMPARE_SET, {"k", "z", "w"}), ElementsAre("y"));
  EXPECT_THAT(ask(0, ORRERY_STORE_COMPARE_SET, {"k", "y", "w"}), ElementsAre("w"));
}

TEST_F(KeyStoresTest, QueuesGiveInOrderAndOneWaiterEach) {
  EXPECT_THAT(ask(0, ORRERY_STORE_POP, {"q", kYes}), ElementsAre("(waits)"));
  EXPECT_THAT(ask(1, ORRERY_STORE_POP, {"q", kYes}), ElementsAre("(waits)"));
  EXPECT_THAT(ask(2, ORRERY_STORE_POP, {"q", kNo}), IsEmpty());
  ask(2, ORRERY_STORE_PUSH, {"q", "first"});
  EXPECT_THAT(reply(0), ElementsAre("first"));
  EXPECT_THAT(reply(1), ElementsAre("(waits)"));
  ask(2, ORRERY_STORE_PUSH, {"q", "second"});
  EXPECT_THAT(reply(1), ElementsAre("second"));
  EXPECT_THAT(ask(2, ORRERY_STORE_LENGTH, {"q"}), ElementsAre(raw(0)));
}

TEST_F(KeyStoresTest, DeleteCountListAppend) {
  ask(0, ORRERY_STORE_APPEND, {"a", "1"});
  ask(0, ORRERY_STORE_APPEND, {"a", "2"});
  ask(0, ORRERY_STORE_SET, {"b", ""});
  EXPECT_THAT(ask(0, ORRERY_STORE_GET, {"a"}), ElementsAre("12"));
  EXPECT_THAT(ask(0, ORRERY_STORE_COUNT, {}), ElementsAre(raw(2)));
  EXPECT_THAT(ask(0, ORRERY_STORE_LIST, {}), ElementsAre("a", "b"));
  EXPECT_THAT(ask(0, ORRERY_STORE_DELETE, {"a"}), ElementsAre(kYes));
  EXPECT_THAT(ask(0, ORRERY_STORE_DELETE, {"a"}), ElementsAre(kNo));
}

TEST_F(KeyStoresTest, AWithdrawnRequestIsNeverAnswered) {
  ask(0, ORRERY_STORE_GET, {"k"});
  stores_.withdraw(0);
  ask(1, ORRERY_STORE_SET, {"k", "v"});
  EXPECT_THAT(reply(0), ElementsAre("(waits)"));
}

TEST_F(KeyStoresTest, NonsenseIsRefused) {
  EXPECT_FALSE(stores_.ask(0, 999, {"s"}));
  EXPECT_FALSE(stores_.ask(0, ORRERY_STORE_SET, {"s", "key without value"}));
  EXPECT_FALSE(stores_.ask(0, ORRERY_STORE_GET, {}));
}

}  // namespace
}  // namespace orrery::live
