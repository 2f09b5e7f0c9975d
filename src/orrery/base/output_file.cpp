// SPDX-License-Identifier: Apache-2.0
#include "orrery/base/output_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"

namespace orrery {
namespace {
constexpr std::size_t kBufferSize = 1U << 18;
constexpr mode_t kFileMode = 0666;  // Less the user's umask.
}  // namespace

OutputFile::OutputFile(std::string path) : path_{std::move(path)} {
  temporary_ = fmt::format("{}.{}.tmp", path_, ::getpid());
  descriptor_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, kFileMode);
  if (descriptor_ < 0) fail("cannot write");
}

OutputFile::~OutputFile() {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
}

void OutputFile::fail(const char* what) const {
  throw InputError{fmt::format("{}: {}: {}", path_, what, std::strerror(errno))};
}

void OutputFile::write(std::string_view data) {
  buffer_.append(data);
  if (buffer_.size() >= kBufferSize) flush();
}

void OutputFile::flush() {
  std::string_view rest = buffer_;
  while (!rest.empty()) {
    const ssize_t written = ::write(descriptor_, rest.data(), rest.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) fail("cannot write");
    rest.remove_prefix(static_cast<std::size_t>(written));
  }
  buffer_.clear();
}

void OutputFile::commit() {
  ORRERY_CHECK(descriptor_ >= 0, "commit() twice on {}", path_);
  flush();
  struct stat target{};
  if (::stat(path_.c_str(), &target) == 0 && !S_ISREG(target.st_mode)) {
    errno = EINVAL;
    fail("not a regular file");
  }
  if (::fsync(descriptor_) != 0 && errno != EINVAL && errno != EROFS) fail("cannot write");
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) fail("cannot rename the finished file");
  ::close(descriptor_);
  descriptor_ = -1;
}

std::string read_file(const std::string& path, std::size_t limit) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) throw InputError{fmt::format("{}: cannot read: {}", path, std::strerror(errno))};
  std::string text;
  std::string chunk(1U << 16, '\0');
  std::string problem;
  for (;;) {
    const ssize_t got = ::read(descriptor, chunk.data(), chunk.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) problem = std::strerror(errno);
    if (got <= 0) break;
    text.append(chunk, 0, static_cast<std::size_t>(got));
    if (text.size() > limit) {
      problem = fmt::format("larger than the {} bytes that are accepted", limit);
      break;
    }
  }
  ::close(descriptor);
  if (!problem.empty()) throw InputError{fmt::format("{}: cannot read: {}", path, problem)};
  return text;
}

}  // namespace orrery
