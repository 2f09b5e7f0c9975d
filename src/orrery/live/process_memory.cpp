// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/process_memory.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string>
#include <string_view>

namespace orrery::live {
namespace {

/// What a file of the kernel says behind `name`, in bytes; 0 when it does not.
std::int64_t value_of(pid_t process, const char* file_name, std::string_view name) {
  std::ifstream file{fmt::format("/proc/{}/{}", process, file_name)};
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(name)) continue;
    const std::size_t digits = line.find_first_of("0123456789");
    std::int64_t kilobytes = 0;
    if (digits != std::string::npos) {
      std::from_chars(line.data() + digits, line.data() + line.size(), kilobytes);
    }
    return kilobytes * 1024;
  }
  return 0;
}

}  // namespace

std::int64_t peak_memory(pid_t process) {
  const std::int64_t more = value_of(process, "status", "VmHWM:") - value_of(process, "status", "VmRSS:");
  return value_of(process, "smaps_rollup", "Pss:") + std::max<std::int64_t>(0, more);
}

}  // namespace orrery::live
