// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The key-value store of a rendezvous, kept by the coordinator: who waits in it, waits in virtual time.
#include <span>
#include <string>

#include "rank.hpp"

namespace orrery::live::shim {

class Store final : public c10d::Store {
 public:
  using Bytes = std::vector<std::uint8_t>;
  using Keys = std::vector<std::string>;
  using c10d::Store::compareSet;
  using c10d::Store::set;

  explicit Store(std::string name, Milliseconds timeout) : c10d::Store{timeout}, name_{std::move(name)} {}

  const std::string& name() const { return name_; }
  c10::intrusive_ptr<c10d::Store> clone() override { return c10::make_intrusive<Store>(name_, timeout_); }

  void set(const std::string& key, const Bytes& value) override {
    ask(ORRERY_STORE_SET, {part(key), part(value)});
  }
  Bytes get(const std::string& key) override { return one(ask(ORRERY_STORE_GET, {part(key)}, {key})); }
  std::int64_t add(const std::string& key, std::int64_t value) override {
    return number(ask(ORRERY_STORE_ADD, {part(key), {&value, sizeof value}}));
  }
  bool deleteKey(const std::string& key) override { return is_yes(ask(ORRERY_STORE_DELETE, {part(key)})); }
  bool check(const Keys& keys) override { return is_yes(ask(ORRERY_STORE_CHECK, parts(keys))); }
  std::int64_t getNumKeys() override { return number(ask(ORRERY_STORE_COUNT, {})); }
  void wait(const Keys& keys) override { wait(keys, timeout_); }
  void wait(const Keys& keys, const Milliseconds& timeout) override {
    ask(ORRERY_STORE_WAIT, parts(keys), keys, timeout);
  }
  /// An absent key that is not set counts as having the expected value, as with TCPStore.
  Bytes compareSet(const std::string& key, const Bytes& expected, const Bytes& desired) override {
    const std::vector<Bytes> answer =
        ask(ORRERY_STORE_COMPARE_SET, {part(key), part(expected), part(desired)});
    return answer.empty() ? expected : answer[0];
  }
  void append(const std::string& key, const Bytes& value) override {
    ask(ORRERY_STORE_APPEND, {part(key), part(value)});
  }
  std::vector<Bytes> multiGet(const Keys& keys) override {
    std::vector<Bytes> values;
    for (const std::string& key : keys) values.push_back(get(key));
    return values;
  }
  void multiSet(const Keys& keys, const std::vector<Bytes>& values) override {
    TORCH_CHECK_WITH(DistStoreError, keys.size() == values.size(),
                     "multi_set: as many values as keys are needed");
    for (std::size_t i = 0; i < keys.size(); ++i) set(keys[i], values[i]);
  }
  bool hasExtendedApi() const override { return true; }
  void queuePush(const std::string& key, const Bytes& value) override {
    ask(ORRERY_STORE_PUSH, {part(key), part(value)});
  }
  Bytes queuePop(const std::string& key, bool block) override {
    const std::uint8_t is_waiting = block ? 1 : 0;
    std::vector<Bytes> answer = ask(ORRERY_STORE_POP, {part(key), {&is_waiting, 1}}, {key});
    TORCH_CHECK_WITH(DistQueueEmptyError, !answer.empty(), "queue is empty");
    return std::move(answer[0]);
  }
  std::int64_t queueLen(const std::string& key) override {
    return number(ask(ORRERY_STORE_LENGTH, {part(key)}));
  }
  Keys listKeys() {  // Overrides, except in torch 2.9.
    Keys keys;
    for (const Bytes& key : ask(ORRERY_STORE_LIST, {})) keys.emplace_back(key.begin(), key.end());
    return keys;
  }

 private:
  static orrery_bytes part(const std::string& text) { return {text.data(), text.size()}; }
  static orrery_bytes part(const Bytes& bytes) { return {bytes.data(), bytes.size()}; }
  static std::vector<orrery_bytes> parts(const Keys& keys) {
    std::vector<orrery_bytes> all;
    for (const std::string& key : keys) all.push_back(part(key));
    return all;
  }

  /// `keys` are what is waited for, to be named when it takes too long.
  std::vector<Bytes> ask(orrery_store_operation operation, const std::vector<orrery_bytes>& arguments,
                         const Keys& keys = {}, std::optional<Milliseconds> timeout = {}) {
    const Milliseconds limit = timeout.value_or(timeout_);
    std::vector<Bytes> answer;
    const auto keep = [](void* context, const void* data, std::size_t size) {
      const auto* bytes = static_cast<const std::uint8_t*>(data);
      static_cast<std::vector<Bytes>*>(context)->emplace_back(bytes, bytes + size);
    };
    without_gil([&] {
      const Pause pause;
      if (orrery_store(name_.c_str(), operation, arguments.data(), arguments.size(), to_picoseconds(limit),
                       keep, &answer) == 0) {
        return;
      }
      if (errno == ECANCELED) throw_run_ended();
      TORCH_CHECK_WITH(DistStoreError, errno != ETIMEDOUT, "wait timeout after ", limit.count(),
                       "ms, keys: ", listed(keys));
      TORCH_CHECK_WITH(DistStoreError, false, "store ", name_, ": ", std::strerror(errno));
    });
    return answer;
  }

  static std::string listed(const Keys& keys) {
    std::string text;
    for (const std::string& key : keys) text += (text.empty() ? "/" : ", /") + key;
    return text;
  }
  static Bytes one(std::vector<Bytes> answer) {
    TORCH_CHECK_WITH(DistStoreError, answer.size() == 1, "the store's answer is not one value");
    return std::move(answer[0]);
  }
  static std::int64_t number(const std::vector<Bytes>& answer) {
    std::int64_t value = 0;
    TORCH_CHECK_WITH(DistStoreError, answer.size() == 1 && answer[0].size() == sizeof value,
                     "the store's answer is not a number");
    std::memcpy(&value, answer[0].data(), sizeof value);
    return value;
  }
  static bool is_yes(const std::vector<Bytes>& answer) {
    return answer.size() == 1 && !answer[0].empty() && answer[0].back() != 0;
  }

  const std::string name_;
};

}  // namespace orrery::live::shim
