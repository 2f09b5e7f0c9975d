// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/output_check.hpp"

#include <fmt/format.h>

#include <filesystem>

#include "orrery/base/error.hpp"
#include "orrery/base/output_file.hpp"

namespace orrery::app {

void check_output(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_status status = std::filesystem::status(path, ignored);
  if (std::filesystem::is_directory(status)) {
    throw InputError{fmt::format("{}: cannot write: is a directory", path)};
  }
  if (std::filesystem::exists(status) && !std::filesystem::is_regular_file(status)) {
    throw InputError{fmt::format("{}: cannot write: not a regular file", path)};
  }
  const OutputFile probe{path};  // Creates its temporary file, and removes it as it is never committed.
}

}  // namespace orrery::app
