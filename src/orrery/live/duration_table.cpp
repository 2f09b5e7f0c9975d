// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/duration_table.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

#include "orrery/base/digest.hpp"
#include "orrery/live/rank/key_statistics.hpp"

namespace orrery::live {
namespace {

constexpr int kVersion = 2;  // Of what the table holds; another one is another file.

/// $ORRERY_CACHE, or where programs keep such things; "" when there is no home.
std::string cache_folder() {
  if (const char* own = std::getenv("ORRERY_CACHE"); own != nullptr && *own != 0) return own;
  if (const char* all = std::getenv("XDG_CACHE_HOME"); all != nullptr && *all != 0) {
    return std::string{all} + "/orrery";
  }
  const char* home = std::getenv("HOME");
  return home == nullptr || *home == 0 ? std::string{} : std::string{home} + "/.cache/orrery";
}

/// Durations are of a processor: another one has another file.
std::uint64_t machine() {
  Digest digest;
  std::ifstream file{"/proc/cpuinfo"};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with("model name") || line.starts_with("cache size")) digest.add(line);
    if (line.empty()) break;  // The first one will do.
  }
  return digest.value();
}

/// Programs come and go: a table without room for new ones would know only the old.
bool is_crowded(int descriptor) {
  void* const memory = ::mmap(nullptr, KeyTable::kBytes, PROT_READ, MAP_SHARED, descriptor, 0);
  if (memory == MAP_FAILED) return false;
  const bool result = KeyTable{memory}.size() > KeyTable::kEntries / 4 * 3;
  ::munmap(memory, KeyTable::kBytes);
  return result;
}

int open_file(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  if (descriptor < 0) return -1;
  struct stat status{};
  const bool is_right = ::fstat(descriptor, &status) == 0 &&
                        (static_cast<std::size_t>(status.st_size) == KeyTable::kBytes ||
                         ::ftruncate(descriptor, static_cast<off_t>(KeyTable::kBytes)) == 0);
  if (is_right) return descriptor;
  ::close(descriptor);
  return -1;
}

int open_kept() {
  const std::string folder = cache_folder();
  if (folder.empty()) return -1;
  std::error_code problem;
  std::filesystem::create_directories(folder, problem);
  const std::string path = fmt::format("{}/durations-{}-{:016x}", folder, kVersion, machine());
  const int descriptor = open_file(path);
  if (descriptor < 0 || !is_crowded(descriptor)) return descriptor;
  // Runs that are under way keep the old one.
  ::close(descriptor);
  ::unlink(path.c_str());
  return open_file(path);
}

}  // namespace

DurationTable::DurationTable() : descriptor_{open_kept()} {
  if (descriptor_ >= 0) return;
  descriptor_ = ::memfd_create("orrery-durations", MFD_CLOEXEC);
  if (descriptor_ >= 0 && ::ftruncate(descriptor_, static_cast<off_t>(KeyTable::kBytes)) != 0) {
    ::close(descriptor_);
    descriptor_ = -1;  // Each rank has its own.
  }
}

DurationTable::~DurationTable() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

}  // namespace orrery::live
