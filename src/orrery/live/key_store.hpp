// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The key-value stores of rendezvous (TCPStore, FileStore, HashStore are names for one of these). Waiting in one is
/// visible to the engine, and takes no virtual time but the waiting itself.
#include <cstdint>
#include <deque>
#include <functional>
#include <list>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace orrery::live {

class KeyStores {
 public:
  using Parts = std::vector<std::string>;
  /// Told when a waiting request can be answered.
  using Answer = std::function<void(std::uint32_t rank, const Parts& reply)>;
  explicit KeyStores(Answer answer) : answer_{std::move(answer)} {}

  /// Parts are the store's name and the arguments (orrery_store_operation). Answers at once, or when another request
  /// makes it possible. False when the request makes no sense.
  bool ask(std::uint32_t rank, std::uint32_t operation, const Parts& parts);
  /// The rank's request has timed out.
  void withdraw(std::uint32_t rank);
  /// "key 'a', 'b' of store 'x'" for the request the rank waits with; "" when it has none.
  [[nodiscard]] std::string describe(std::uint32_t rank) const;

 private:
  struct Store {
    std::map<std::string, std::string> values;
    std::map<std::string, std::deque<std::string>> queues;
  };
  struct Waiter {
    std::uint32_t rank;
    std::uint32_t operation;
    std::string store;
    Parts keys;
  };
  /// The reply, if it can be given now.
  std::optional<Parts> try_answer(Store& store, std::uint32_t operation, const Parts& arguments);
  void serve_waiters(const std::string& name);

  Answer answer_;
  std::map<std::string, Store> stores_;
  std::list<Waiter> waiters_;  // Oldest first.
};

}  // namespace orrery::live
