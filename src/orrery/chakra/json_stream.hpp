// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Cuts a JSON text into values, so that a file of any length is read one node at a time.
#include <cstdint>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "orrery/chakra/byte_source.hpp"

namespace orrery::chakra {

using Json = nlohmann::ordered_json;

class JsonStream {
 public:
  /// `value_limit` bounds the bytes of one value.
  JsonStream(std::unique_ptr<ByteSource> source, std::string name, std::size_t value_limit);
  /// The next byte that is no blank, still to be read; '\0' at the end.
  [[nodiscard]] char peek();
  /// Reads `c` past blanks; InputError when something else stands there.
  void expect(char c, const char* what);
  /// Reads a whole value. InputError for what is not JSON, nested too deeply, too long, or has a key twice.
  [[nodiscard]] Json value();
  /// A key and the colon behind it.
  [[nodiscard]] std::string key();
  [[nodiscard]] std::uint64_t offset() const { return offset_; }
  /// Where the last value began.
  [[nodiscard]] std::uint64_t value_offset() const { return value_offset_; }
  [[noreturn]] void fail(std::uint64_t at, const std::string& expected) const;

 private:
  [[nodiscard]] bool has_byte();
  void take(std::string& into);
  void cut(std::string& text);
  void cut_string(std::string& text);

  std::unique_ptr<ByteSource> source_;
  std::string name_;
  std::size_t limit_;
  std::vector<char> window_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t value_offset_ = 0;
};

}  // namespace orrery::chakra
