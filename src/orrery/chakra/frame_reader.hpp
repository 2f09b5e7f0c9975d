// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Cuts a stream into messages, each behind its length as a varint. Memory is bounded by the largest message.
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/chakra/byte_source.hpp"

namespace orrery::chakra {

class FrameReader {
 public:
  FrameReader(std::unique_ptr<ByteSource> source, std::string name, std::size_t message_limit);
  /// False at the end. InputError, with the byte, for a length that is too large or a stream that ends in a message.
  bool next();
  /// The message last read, valid until the next one.
  [[nodiscard]] std::string_view message() const { return {data() + prefix_, length_}; }
  /// The same with its length in front, as it stands in the file.
  [[nodiscard]] std::string_view frame() const { return {data(), prefix_ + length_}; }
  /// Of the frame in the (decompressed) file.
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  [[nodiscard]] std::uint64_t message_offset() const { return offset_ + prefix_; }
  [[nodiscard]] const std::string& name() const { return name_; }

 private:
  [[nodiscard]] const char* data() const { return window_.data() + begin_; }
  [[nodiscard]] bool ensure(std::size_t count);
  void make_room();
  [[nodiscard]] bool read_length();
  [[noreturn]] void fail(const std::string& expected) const;

  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::size_t message_limit_;
  std::vector<char> window_;
  std::size_t begin_ = 0;  // Of the frame, in the window.
  std::size_t end_ = 0;    // Of what was read.
  std::size_t prefix_ = 0;
  std::size_t length_ = 0;
  std::uint64_t offset_ = 0;
};

}  // namespace orrery::chakra
