// SPDX-License-Identifier: Apache-2.0
#include "orrery/base/byte_sink.hpp"

#include <zlib.h>

#include <array>

#include "orrery/base/check.hpp"
#include "orrery/base/output_file.hpp"

namespace orrery {
namespace {

class PlainSink final : public ByteSink {
 public:
  explicit PlainSink(const std::string& path) : file_{path} {}
  void write(std::string_view data) override { file_.write(data); }
  void commit() override { file_.commit(); }

 private:
  OutputFile file_;
};

class GzipSink final : public ByteSink {
 public:
  explicit GzipSink(const std::string& path) : file_{path} {
    constexpr int kGzipWindow =
        15 + 16;  // Largest window; 16 asks zlib for a gzip header, whose time stays 0.
    constexpr int kMemoryLevel = 8;
    // Measured on two million spans: a quarter larger than the default level, in less than half its time.
    const int status =
        deflateInit2(&stream_, Z_BEST_SPEED, Z_DEFLATED, kGzipWindow, kMemoryLevel, Z_DEFAULT_STRATEGY);
    ORRERY_CHECK(status == Z_OK, "deflateInit2 gave {}", status);
  }
  ~GzipSink() override { deflateEnd(&stream_); }

  void write(std::string_view data) override {
    constexpr std::size_t kBatch = 1U << 16;
    pending_.append(data);
    if (pending_.size() >= kBatch) deflate_pending(Z_NO_FLUSH);
  }
  void commit() override {
    deflate_pending(Z_FINISH);
    file_.commit();
  }

 private:
  void deflate_pending(int flush) {
    // zlib does not write to its input; its interface predates const.
    stream_.next_in = reinterpret_cast<Bytef*>(pending_.data());
    stream_.avail_in = static_cast<uInt>(pending_.size());
    do {
      stream_.next_out = reinterpret_cast<Bytef*>(output_.data());
      stream_.avail_out = static_cast<uInt>(output_.size());
      const int status = deflate(&stream_, flush);
      ORRERY_CHECK(status == Z_OK || status == Z_STREAM_END || status == Z_BUF_ERROR, "deflate gave {}",
                   status);
      file_.write({output_.data(), output_.size() - stream_.avail_out});
    } while (stream_.avail_out == 0);
    ORRERY_CHECK(stream_.avail_in == 0, "{} bytes were not compressed", stream_.avail_in);
    pending_.clear();
  }

  OutputFile file_;
  z_stream stream_{};
  std::string pending_;
  std::array<char, 1U << 16> output_{};
};

}  // namespace

std::unique_ptr<ByteSink> open_sink(const std::string& path) {
  if (path.ends_with(".gz")) return std::make_unique<GzipSink>(path);
  return std::make_unique<PlainSink>(path);
}

}  // namespace orrery
