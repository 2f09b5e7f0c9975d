// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Byte strings one after the other: uint64 size, bytes, padding to 8. Standard library only.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string_view>

namespace orrery::live {

[[nodiscard]] constexpr std::size_t part_bytes(std::size_t size) {
  return sizeof(std::uint64_t) + (size + 7) / 8 * 8;
}

class PartWriter {
 public:
  explicit PartWriter(std::byte* at) : at_{at} {}
  void add(std::string_view part) {
    const std::uint64_t size = part.size();
    std::memcpy(at_, &size, sizeof size);
    if (size > 0) std::memcpy(at_ + sizeof size, part.data(), part.size());
    at_ += part_bytes(part.size());
  }

 private:
  std::byte* at_;
};

/// std::length_error when a part does not lie within the bytes there are.
class PartReader {
 public:
  PartReader(const std::byte* at, std::size_t bytes) : at_{at}, left_{bytes} {}
  [[nodiscard]] std::string_view next() {
    std::uint64_t size = 0;
    if (left_ < sizeof size) throw std::length_error{"truncated parts"};
    std::memcpy(&size, at_, sizeof size);
    if (size > left_ - sizeof size || part_bytes(size) > left_) throw std::length_error{"truncated parts"};
    const std::string_view part{reinterpret_cast<const char*>(at_ + sizeof size), size};
    at_ += part_bytes(size);
    left_ -= part_bytes(size);
    return part;
  }

 private:
  const std::byte* at_;
  std::size_t left_;
};

}  // namespace orrery::live
