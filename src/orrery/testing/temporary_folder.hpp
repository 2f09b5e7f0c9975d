// SPDX-License-Identifier: Apache-2.0
#pragma once
/// For tests that write files: tests run side by side, from several build trees, and must not meet.
#include <gtest/gtest.h>
#include <stdlib.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "orrery/base/check.hpp"

namespace orrery::test {

/// A folder nobody else has, gone at the end.
class TemporaryFolder {
 public:
  TemporaryFolder() : path_{::testing::TempDir() + "orrery_XXXXXX"} {
    ORRERY_CHECK(::mkdtemp(path_.data()) != nullptr, "no folder {}", path_);
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
  /// Writes a file; its path.
  std::string write(const std::string& name, const std::string& text) const {
    std::ofstream{path(name), std::ios::binary} << text;
    return path(name);
  }

 private:
  std::string path_;
};

}  // namespace orrery::test
