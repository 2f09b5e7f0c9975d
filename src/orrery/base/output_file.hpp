// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Files that appear whole or not at all.
#include <string>
#include <string_view>

#include "orrery/base/pinned.hpp"

namespace orrery {

/// Writes to a temporary name beside `path`; commit() flushes it to disk and renames it. Without commit()
/// (an exception, an interrupt) the temporary file is removed and `path` is untouched. Every failure
/// (permission, full disk, missing folder) is an InputError that names the file and the system's reason.
class OutputFile : Pinned {
 public:
  explicit OutputFile(std::string path);
  ~OutputFile();
  void write(std::string_view data);
  void commit();

 private:
  [[noreturn]] void fail(const char* what) const;
  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
  std::string buffer_;
  void flush();
};

/// The whole of a file, at most `limit` bytes. InputError when it cannot be read or is larger.
[[nodiscard]] std::string read_file(const std::string& path, std::size_t limit);

}  // namespace orrery
