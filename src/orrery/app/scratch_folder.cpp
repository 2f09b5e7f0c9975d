// SPDX-License-Identifier: Apache-2.0
#include "orrery/app/scratch_folder.hpp"

#include <fcntl.h>
#include <fmt/format.h>
#include <stdlib.h>  // NOLINT(modernize-deprecated-headers): mkdtemp
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "orrery/base/error.hpp"

namespace orrery::app {
namespace {

namespace fs = std::filesystem;

int open_folder(const std::string& path) {
  return ::open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC | O_NOFOLLOW);
}

/// Folders whose owner has no lock on them any more. One that is being made may look like that for a moment: it is
/// empty then, and spared.
void remove_orphans(const fs::path& parent, const std::string& prefix) {
  std::error_code problem;
  for (const fs::directory_entry& entry : fs::directory_iterator{parent, problem}) {
    if (!entry.path().filename().string().starts_with(prefix)) continue;
    const int folder = open_folder(entry.path().string());
    if (folder < 0) continue;
    const bool is_orphan = ::flock(folder, LOCK_EX | LOCK_NB) == 0 && !fs::is_empty(entry.path(), problem);
    if (is_orphan) fs::remove_all(entry.path(), problem);
    ::close(folder);
  }
}

}  // namespace

ScratchFolder::ScratchFolder(const std::string& purpose) {
  std::error_code problem;
  const fs::path parent = fs::temp_directory_path(problem);
  const std::string prefix = fmt::format("orrery-{}-", purpose);
  remove_orphans(parent, prefix);
  path_ = (parent / (prefix + "XXXXXX")).string();
  if (::mkdtemp(path_.data()) == nullptr) {
    throw InputError{fmt::format("{}: a temporary folder cannot be made: {}", path_, std::strerror(errno))};
  }
  lock_ = open_folder(path_);
  if (lock_ >= 0) ::flock(lock_, LOCK_EX);
}

ScratchFolder::~ScratchFolder() {
  std::error_code problem;
  fs::remove_all(path_, problem);
  if (lock_ >= 0) ::close(lock_);
}

}  // namespace orrery::app
