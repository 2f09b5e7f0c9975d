// SPDX-License-Identifier: Apache-2.0
#include "orrery/chakra/frame_reader.hpp"

#include <fmt/format.h>

#include <cstring>
#include <utility>

#include "orrery/base/error.hpp"

namespace orrery::chakra {
namespace {

// Small files need little; a long one soon reads in steps that hide the cost of a system call.
constexpr std::size_t kFirstWindow = 1U << 14U;
constexpr std::size_t kWindow = 1U << 18U;

}  // namespace

FrameReader::FrameReader(std::unique_ptr<ByteSource> source, std::string name, std::size_t message_limit)
    : source_{std::move(source)}, name_{std::move(name)}, message_limit_{message_limit} {}

void FrameReader::fail(const std::string& expected) const {
  throw InputError{{.source = name_,
                    .position = {},
                    .field = fmt::format("byte {}", offset_),
                    .value = {},
                    .expected = expected,
                    .nearest = {}}};
}

void FrameReader::make_room() {
  if (begin_ > 0) {
    std::memmove(window_.data(), window_.data() + begin_, end_ - begin_);
    end_ -= begin_;
    begin_ = 0;
  }
  if (window_.size() < kWindow || end_ == window_.size()) {
    window_.resize(window_.empty() ? kFirstWindow : window_.size() * 2);
  }
}

bool FrameReader::ensure(std::size_t count) {
  while (end_ - begin_ < count) {
    if (end_ == window_.size()) make_room();
    const std::size_t got = source_->read({window_.data() + end_, window_.size() - end_});
    if (got == 0) return false;
    end_ += got;
  }
  return true;
}

bool FrameReader::read_length() {
  constexpr unsigned kBits = 7;
  constexpr std::size_t kLongest = 10;
  std::uint64_t length = 0;
  for (prefix_ = 0;;) {
    if (!ensure(prefix_ + 1)) {
      if (prefix_ == 0) return false;
      fail("the file ends inside the length of a message");
    }
    const auto byte = static_cast<unsigned char>(data()[prefix_]);
    if (prefix_ + 1 < kLongest) length |= std::uint64_t{byte & 0x7FU} << (kBits * prefix_);
    ++prefix_;
    if ((byte & 0x80U) == 0) break;
    if (prefix_ == kLongest) fail("the length of a message has more than 10 bytes: not a Chakra trace");
  }
  if (length > message_limit_) {
    fail(fmt::format("a message of {} bytes, at most {} are accepted: damaged, or not a Chakra trace", length,
                     message_limit_));
  }
  length_ = static_cast<std::size_t>(length);
  return true;
}

bool FrameReader::next() {
  begin_ += prefix_ + length_;
  offset_ += prefix_ + length_;
  prefix_ = length_ = 0;
  if (!read_length()) return false;
  if (!ensure(prefix_ + length_)) {
    fail(fmt::format(
        "the file ends inside a message, {} of whose {} bytes are there: cut off, or not a Chakra trace",
        end_ - begin_ - prefix_, length_));
  }
  return true;
}

}  // namespace orrery::chakra
