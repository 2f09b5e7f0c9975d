// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Bytes of a trace in order, decompressed when they are gzip.
#include <cstddef>
#include <memory>
#include <span>
#include <string>

namespace orrery::chakra {

class ByteSource {
 public:
  virtual ~ByteSource() = default;
  /// Fills the front of `into` (not empty) and says how much; 0 at the end. InputError when it cannot be read.
  virtual std::size_t read(std::span<char> into) = 0;
};

/// A file, gzip by its first bytes. No descriptor stays open between reads, so that thousands of ranks can be read
/// side by side. InputError for what is no regular file, cannot be read, or changes while it is read.
[[nodiscard]] std::unique_ptr<ByteSource> open_bytes(const std::string& path);
/// `bytes` as if they were the file `name`.
[[nodiscard]] std::unique_ptr<ByteSource> memory_bytes(std::string bytes, const std::string& name);

}  // namespace orrery::chakra
