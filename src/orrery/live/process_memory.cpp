// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/process_memory.hpp"

#include <fmt/format.h>

#include <charconv>
#include <fstream>
#include <string>

namespace orrery::live {

std::int64_t proportional_memory(pid_t process) {
  std::ifstream file{fmt::format("/proc/{}/smaps_rollup", process)};
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with("Pss:")) continue;
    const std::size_t digits = line.find_first_of("0123456789");
    std::int64_t kilobytes = 0;
    if (digits != std::string::npos) {
      std::from_chars(line.data() + digits, line.data() + line.size(), kilobytes);
    }
    return kilobytes * 1024;
  }
  return 0;
}

}  // namespace orrery::live
