// SPDX-License-Identifier: Apache-2.0
#include "orrery/live/rank/ledger_file.hpp"

#include <utility>

namespace orrery::live {
namespace {

constexpr std::string_view kMagic = "ORRERYLG";
constexpr std::uint32_t kHostTime = 1;  // Versions.
constexpr std::uint32_t kDeviceTime = 2;
constexpr std::size_t kWord = 4;
constexpr std::size_t kHeaderBytes = kMagic.size() + 4 * kWord;
constexpr std::size_t kFrameHeaderBytes = 3 * kWord;
constexpr std::size_t kEndBytes = 8;

template <class Integer>
void append(std::string& bytes, Integer value) {
  for (std::size_t i = 0; i < sizeof value; ++i) {
    bytes.push_back(static_cast<char>(static_cast<unsigned char>(value >> (8 * i))));
  }
}

void append_variable(std::string& bytes, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7) bytes.push_back(static_cast<char>((value & 0x7f) | 0x80));
  bytes.push_back(static_cast<char>(value));
}

std::uint64_t load(std::string_view bytes, std::size_t at, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = 0; i < size; ++i) {
    value |= std::uint64_t{static_cast<unsigned char>(bytes[at + i])} << (8 * i);
  }
  return value;
}

std::uint32_t load_word(std::string_view bytes, std::size_t at) {
  return static_cast<std::uint32_t>(load(bytes, at, kWord));
}

/// FNV-1a: against accidents, not against people.
std::uint32_t checksum(std::string_view bytes, std::uint32_t seed = 2166136261U) {
  for (const char byte : bytes) seed = (seed ^ static_cast<unsigned char>(byte)) * 16777619U;
  return seed;
}

std::string frame(std::uint32_t count, std::string_view content) {
  std::string bytes;
  bytes.reserve(kFrameHeaderBytes + content.size());
  append(bytes, static_cast<std::uint32_t>(content.size()));
  append(bytes, count);
  append(bytes, checksum(content, checksum(bytes)));
  bytes.append(content);
  return bytes;
}

[[noreturn]] void fail(std::size_t at, const std::string& what) {
  throw LedgerError{"ledger: byte " + std::to_string(at) + ": " + what};
}

}  // namespace

LedgerWriter::LedgerWriter(std::uint32_t rank, std::uint32_t world, bool is_device_time)
    : rank_{rank}, world_{world}, is_device_time_{is_device_time} {}

void LedgerWriter::add(const LedgerEntry& entry) {
  append_variable(entries_, entry.point);
  append_variable(entries_, static_cast<std::uint64_t>(entry.picoseconds));
  ++count_;
}

std::string LedgerWriter::take() {
  std::string bytes;
  if (!std::exchange(has_header_, true)) {
    bytes.append(kMagic);
    append(bytes, is_device_time_ ? kDeviceTime : kHostTime);
    append(bytes, rank_);
    append(bytes, world_);
    append(bytes, checksum(bytes));
  }
  if (count_ > 0) bytes += frame(count_, entries_);
  total_ += count_;
  count_ = 0;
  entries_.clear();
  return bytes;
}

std::string LedgerWriter::finish() {
  std::string bytes = take();
  std::string end;
  append(end, total_);
  return bytes + frame(0, end);
}

LedgerReader::LedgerReader(std::string_view bytes)
    : bytes_{bytes}, at_{kHeaderBytes}, frame_end_{kHeaderBytes} {
  if (bytes.size() < kHeaderBytes || !bytes.starts_with(kMagic)) fail(0, "this is no ledger");
  const std::size_t fields = kMagic.size();
  const std::uint32_t version = load_word(bytes, fields);
  if (version != kHostTime && version != kDeviceTime) {
    fail(fields, "version " + std::to_string(version) + "; this program reads versions 1 and 2");
  }
  is_device_time_ = version == kDeviceTime;
  rank_ = load_word(bytes, fields + kWord);
  world_ = load_word(bytes, fields + 2 * kWord);
  if (load_word(bytes, kHeaderBytes - kWord) != checksum(bytes.substr(0, kHeaderBytes - kWord))) {
    fail(kHeaderBytes - kWord, "the header is damaged");
  }
  for (std::size_t at = kHeaderBytes;;) {
    if (bytes.size() - at < kFrameHeaderBytes) {
      fail(at, "the ledger ends after " + std::to_string(size_) +
                   " entries, without its end mark: the run that " + "recorded it did not finish");
    }
    const std::size_t size = load_word(bytes, at);
    const std::uint32_t count = load_word(bytes, at + kWord);
    const std::size_t content = at + kFrameHeaderBytes;
    if (bytes.size() - content < size) {
      fail(at, "the ledger is cut off inside a frame of " + std::to_string(size) + " bytes");
    }
    if (load_word(bytes, at + 2 * kWord) !=
        checksum(bytes.substr(content, size), checksum(bytes.substr(at, 2 * kWord)))) {
      fail(at, "damaged: the checksum is wrong");
    }
    at = content + size;
    size_ += count;
    if (count > 0) continue;
    if (size != kEndBytes || load(bytes, content, kEndBytes) != size_) {
      fail(content, "the number of entries is wrong");
    }
    if (at != bytes.size()) fail(at, "there is something after the end");
    return;
  }
}

std::optional<LedgerEntry> LedgerReader::next() {
  if (position_ == size_) return std::nullopt;
  if (at_ == frame_end_) {
    if (bytes_.size() - at_ < kFrameHeaderBytes) fail(at_, "fewer entries than announced");
    frame_end_ = at_ + kFrameHeaderBytes + load_word(bytes_, at_);
    at_ += kFrameHeaderBytes;
  }
  LedgerEntry entry;
  entry.point = read_integer();
  const std::uint64_t picoseconds = read_integer();
  if (picoseconds > INT64_MAX) fail(at_, "a negative duration");
  entry.picoseconds = static_cast<std::int64_t>(picoseconds);
  ++position_;
  return entry;
}

std::uint64_t LedgerReader::read_integer() {
  std::uint64_t value = 0;
  for (unsigned shift = 0; at_ < frame_end_; shift += 7) {
    const auto byte = static_cast<unsigned char>(bytes_[at_++]);
    if (shift == 63 && byte > 1) break;
    value |= std::uint64_t{byte & 0x7fU} << shift;
    if (byte < 0x80) return value;
  }
  fail(at_, "no entry where one should be");
}

}  // namespace orrery::live
