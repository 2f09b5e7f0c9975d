// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/key_store.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cstring>

#include "orrery/base/text.hpp"
#include "orrery/live/rank/orrery_rank.h"

namespace orrery::live {
namespace {

std::string raw(std::int64_t value) {
  std::string text(sizeof value, '\0');
  std::memcpy(text.data(), &value, sizeof value);
  return text;
}

std::string raw(bool value) { return std::string(1, static_cast<char>(value ? 1 : 0)); }

std::int64_t integer(const std::string& text) {
  std::int64_t value = 0;
  std::memcpy(&value, text.data(), std::min(sizeof value, text.size()));
  return value;
}

/// How many arguments each operation takes at least.
std::size_t arguments_of(std::uint32_t operation) {
  switch (operation) {
    case ORRERY_STORE_COUNT:
    case ORRERY_STORE_LIST:
    case ORRERY_STORE_CHECK:
    case ORRERY_STORE_WAIT:
      return 0;
    case ORRERY_STORE_GET:
    case ORRERY_STORE_DELETE:
    case ORRERY_STORE_LENGTH:
      return 1;
    case ORRERY_STORE_COMPARE_SET:
      return 3;
    default:
      return 2;
  }
}

}  // namespace

bool KeyStores::ask(std::uint32_t rank, std::uint32_t operation, const Parts& parts) {
  if (operation < ORRERY_STORE_SET || operation > ORRERY_STORE_LIST || parts.empty()) return false;
  const Parts arguments(parts.begin() + 1, parts.end());
  if (arguments.size() < arguments_of(operation)) return false;
  const std::string& name = parts.front();
  Store& store = stores_[name];
  if (const std::optional<Parts> reply = try_answer(store, operation, arguments)) {
    answer_(rank, *reply);
    serve_waiters(name);
  } else {
    waiters_.push_back({rank, operation, name, arguments});
  }
  return true;
}

std::optional<KeyStores::Parts> KeyStores::try_answer(Store& store, std::uint32_t operation,
                                                      const Parts& arguments) {
  auto& values = store.values;
  const auto has = [&](const std::string& key) { return values.contains(key) || store.queues.contains(key); };
  switch (operation) {
    case ORRERY_STORE_SET:
      values[arguments[0]] = arguments[1];
      return Parts{};
    case ORRERY_STORE_GET:
      if (const auto found = values.find(arguments[0]); found != values.end()) return Parts{found->second};
      return std::nullopt;
    case ORRERY_STORE_ADD: {
      // Counters are kept as text, as torch's stores do: a get() of one gives digits.
      std::string& value = values[arguments[0]];
      std::int64_t number = 0;
      std::from_chars(value.data(), value.data() + value.size(), number);
      number += integer(arguments[1]);
      value = std::to_string(number);
      return Parts{raw(number)};
    }
    case ORRERY_STORE_DELETE:
      return Parts{raw(values.erase(arguments[0]) + store.queues.erase(arguments[0]) > 0)};
    case ORRERY_STORE_CHECK:
      return Parts{raw(std::ranges::all_of(arguments, has))};
    case ORRERY_STORE_WAIT:
      return std::ranges::all_of(arguments, has) ? std::optional{Parts{}} : std::nullopt;
    case ORRERY_STORE_COUNT:
      return Parts{raw(static_cast<std::int64_t>(values.size()))};
    case ORRERY_STORE_COMPARE_SET: {
      const auto found = values.find(arguments[0]);
      if (found == values.end()) {
        if (!arguments[1].empty()) return Parts{arguments[1]};
        values[arguments[0]] = arguments[2];
        return Parts{arguments[2]};
      }
      if (found->second == arguments[1]) found->second = arguments[2];
      return Parts{found->second};
    }
    case ORRERY_STORE_APPEND:
      values[arguments[0]] += arguments[1];
      return Parts{};
    case ORRERY_STORE_PUSH:
      store.queues[arguments[0]].push_back(arguments[1]);
      return Parts{};
    case ORRERY_STORE_POP: {
      const auto found = store.queues.find(arguments[0]);
      if (found == store.queues.end()) {
        const bool waits = !arguments[1].empty() && arguments[1][0] != 0;
        return waits ? std::nullopt : std::optional{Parts{}};
      }
      Parts reply{std::move(found->second.front())};
      found->second.pop_front();
      if (found->second.empty()) store.queues.erase(found);
      return reply;
    }
    case ORRERY_STORE_LENGTH: {
      const auto found = store.queues.find(arguments[0]);
      return Parts{raw(static_cast<std::int64_t>(found == store.queues.end() ? 0 : found->second.size()))};
    }
    default: {
      Parts keys;
      for (const auto& [key, value] : values) keys.push_back(key);
      return keys;
    }
  }
}

void KeyStores::serve_waiters(const std::string& name) {
  for (auto waiter = waiters_.begin(); waiter != waiters_.end();) {
    std::optional<Parts> reply;
    if (waiter->store == name) reply = try_answer(stores_[name], waiter->operation, waiter->keys);
    if (!reply) {
      ++waiter;
      continue;
    }
    const std::uint32_t rank = waiter->rank;
    waiter = waiters_.erase(waiter);
    answer_(rank, *reply);
  }
}

void KeyStores::withdraw(std::uint32_t rank) {
  waiters_.remove_if([&](const Waiter& waiter) { return waiter.rank == rank; });
}

std::string KeyStores::describe(std::uint32_t rank) const {
  for (const Waiter& waiter : waiters_) {
    if (waiter.rank == rank) {
      return fmt::format("key '{}' of the store '{}'", join(waiter.keys, "', '"), waiter.store);
    }
  }
  return {};
}

}  // namespace orrery::live
