// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where writers send their bytes: a file that appears whole or not at all, compressed if its name says so.
#include <memory>
#include <string>
#include <string_view>

namespace orrery {

class ByteSink {
 public:
  virtual ~ByteSink() = default;
  virtual void write(std::string_view data) = 0;
  /// Nothing is to be seen of the file before. Without it, it never appears.
  virtual void commit() = 0;
};

/// gzip when `path` ends in ".gz". InputError when the file cannot be written. The compressed bytes hold
/// neither a time nor a file name, so equal data gives equal files.
[[nodiscard]] std::unique_ptr<ByteSink> open_sink(const std::string& path);

}  // namespace orrery
