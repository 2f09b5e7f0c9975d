// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Objects by number, with reuse. They never move: growing copies nothing, and references stay valid.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace orrery {

template <class T>
class Pool {
 public:
  /// The number of an object nobody has. A used one comes as it was given back.
  [[nodiscard]] std::uint32_t take() {
    if (!free_.empty()) {
      const std::uint32_t number = free_.back();
      free_.pop_back();
      return number;
    }
    if (size_ == blocks_.size() * kBlock) blocks_.push_back(std::make_unique<T[]>(kBlock));
    return static_cast<std::uint32_t>(size_++);
  }
  void give_back(std::uint32_t number) { free_.push_back(number); }
  [[nodiscard]] T& operator[](std::uint32_t number) { return blocks_[number / kBlock][number % kBlock]; }
  [[nodiscard]] const T& operator[](std::uint32_t number) const {
    return blocks_[number / kBlock][number % kBlock];
  }
  /// Objects made so far; their numbers are below it.
  [[nodiscard]] std::size_t size() const { return size_; }

 private:
  static constexpr std::size_t kBlock = 256;
  std::vector<std::unique_ptr<T[]>> blocks_;
  std::vector<std::uint32_t> free_;
  std::size_t size_ = 0;
};

}  // namespace orrery
