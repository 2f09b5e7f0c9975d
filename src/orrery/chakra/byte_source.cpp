// SPDX-License-Identifier: Apache-2.0
#include "orrery/chakra/byte_source.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <utility>
#include <vector>

#include "orrery/base/check.hpp"
#include "orrery/base/error.hpp"

namespace orrery::chakra {
namespace {

[[noreturn]] void fail(const std::string& name, std::string expected) {
  throw InputError{{.source = name,
                    .position = {},
                    .field = {},
                    .value = {},
                    .expected = std::move(expected),
                    .nearest = {}}};
}

class Descriptor {
 public:
  explicit Descriptor(const std::string& path)
      : value_{::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK)} {
    if (value_ < 0) fail(path, "cannot open: " + std::generic_category().message(errno));
  }
  ~Descriptor() { ::close(value_); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  [[nodiscard]] int value() const { return value_; }

 private:
  int value_;
};

class FileSource final : public ByteSource {
 public:
  explicit FileSource(std::string path) : path_{std::move(path)} {
    const Descriptor file{path_};
    first_ = state_of(file);
  }
  std::size_t read(std::span<char> into) override {
    if (offset_ >= first_.st_size) return 0;
    const Descriptor file{path_};
    const struct stat now = state_of(file);
    const bool is_same = now.st_ino == first_.st_ino && now.st_dev == first_.st_dev &&
                         now.st_size == first_.st_size && now.st_mtim.tv_sec == first_.st_mtim.tv_sec &&
                         now.st_mtim.tv_nsec == first_.st_mtim.tv_nsec;
    if (!is_same) fail(path_, "the file changed while it was being read");
    for (;;) {
      const ssize_t got = ::pread(file.value(), into.data(), into.size(), offset_);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) fail(path_, "cannot read: " + std::generic_category().message(errno));
      offset_ += got;
      return static_cast<std::size_t>(got);
    }
  }

 private:
  [[nodiscard]] struct stat state_of(const Descriptor& file) const {
    struct stat state{};
    if (::fstat(file.value(), &state) != 0) {
      fail(path_, "cannot read: " + std::generic_category().message(errno));
    }
    if (!S_ISREG(state.st_mode)) fail(path_, "not a regular file; a trace is read more than once");
    return state;
  }

  std::string path_;
  struct stat first_{};
  off_t offset_ = 0;
};

class MemorySource final : public ByteSource {
 public:
  explicit MemorySource(std::string bytes) : bytes_{std::move(bytes)} {}
  std::size_t read(std::span<char> into) override {
    const std::size_t count = std::min(into.size(), bytes_.size() - offset_);
    std::memcpy(into.data(), bytes_.data() + offset_, count);
    offset_ += count;
    return count;
  }

 private:
  std::string bytes_;
  std::size_t offset_ = 0;
};

/// Hands on bytes that were read ahead to look at them, then the rest.
class PeekedSource final : public ByteSource {
 public:
  explicit PeekedSource(std::unique_ptr<ByteSource> rest) : rest_{std::move(rest)} {
    while (ahead_.size() < kMagic.size()) {
      char byte = 0;
      if (rest_->read({&byte, 1}) == 0) break;
      ahead_.push_back(byte);
    }
  }
  [[nodiscard]] bool is_gzip() const { return ahead_ == kMagic; }
  std::size_t read(std::span<char> into) override {
    if (ahead_.empty()) return rest_->read(into);
    const std::size_t count = std::min(into.size(), ahead_.size());
    std::memcpy(into.data(), ahead_.data(), count);
    ahead_.erase(0, count);
    return count;
  }

 private:
  inline static const std::string kMagic{"\x1f\x8b"};
  std::unique_ptr<ByteSource> rest_;
  std::string ahead_;
};

/// One gzip member after another, as gzip itself reads them.
class GzipSource final : public ByteSource {
 public:
  GzipSource(std::unique_ptr<ByteSource> packed, std::string name)
      : packed_{std::move(packed)}, name_{std::move(name)}, input_(kInput) {
    constexpr int kGzipWindow = 15 + 16;
    const int status = inflateInit2(&stream_, kGzipWindow);
    ORRERY_CHECK(status == Z_OK, "inflateInit2 gave {}", status);
  }
  ~GzipSource() override { inflateEnd(&stream_); }

  std::size_t read(std::span<char> into) override {
    stream_.next_out = reinterpret_cast<Bytef*>(into.data());
    stream_.avail_out = static_cast<uInt>(std::min<std::size_t>(into.size(), 1U << 30U));
    const auto wanted = stream_.avail_out;
    while (stream_.avail_out == wanted) {
      if (stream_.avail_in == 0 && !refill()) {
        if (is_member_open_) fail(name_, "the compressed data ends too early");
        return 0;
      }
      is_member_open_ = true;
      const int status = inflate(&stream_, Z_NO_FLUSH);
      if (status == Z_STREAM_END) {
        is_member_open_ = false;
        inflateReset(&stream_);
      } else if (status != Z_OK && status != Z_BUF_ERROR) {
        fail(name_, fmt::format("damaged gzip data near byte {}: {}", read_ - stream_.avail_in,
                                stream_.msg == nullptr ? "not readable" : stream_.msg));
      }
    }
    return wanted - stream_.avail_out;
  }

 private:
  static constexpr std::size_t kInput = 1U << 15U;
  bool refill() {
    const std::size_t count = packed_->read(input_);
    read_ += count;
    stream_.next_in = reinterpret_cast<Bytef*>(input_.data());
    stream_.avail_in = static_cast<uInt>(count);
    return count > 0;
  }

  std::unique_ptr<ByteSource> packed_;
  std::string name_;
  std::vector<char> input_;
  z_stream stream_{};
  bool is_member_open_ = false;
  std::uint64_t read_ = 0;
};

std::unique_ptr<ByteSource> unpacked(std::unique_ptr<ByteSource> raw, const std::string& name) {
  auto peeked = std::make_unique<PeekedSource>(std::move(raw));
  if (peeked->is_gzip()) return std::make_unique<GzipSource>(std::move(peeked), name);
  return peeked;
}

}  // namespace

std::unique_ptr<ByteSource> open_bytes(const std::string& path) {
  return unpacked(std::make_unique<FileSource>(path), path);
}

std::unique_ptr<ByteSource> memory_bytes(std::string bytes, const std::string& name) {
  return unpacked(std::make_unique<MemorySource>(std::move(bytes)), name);
}

}  // namespace orrery::chakra
