// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The ledger of a rank: what was charged at each of its points, in order. With it a run can be repeated exactly,
/// on a noisy host or on another one.
///
/// Bytes, version 1 (times of this host, before the device's scale) or 2 (times of the device), little-endian:
///   header   "ORRERYLG", u32 version, u32 rank, u32 world, u32 checksum of these
///   frames   u32 size, u32 entries > 0, u32 checksum (of size, entries and what follows), then the entries: point
///            and picoseconds as variable-length integers (7 bits per byte, lowest first)
///   end      a frame without entries: its content is the u64 number of all entries
/// A file without its end is one of a run that did not finish.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace orrery::live {

struct LedgerEntry {
  std::uint64_t point = 0;       ///< What kind of point the segment ended at.
  std::int64_t picoseconds = 0;  ///< >= 0.
  bool operator==(const LedgerEntry&) const = default;
};

/// What is wrong with a ledger, and at which byte.
class LedgerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Collects entries; somebody else writes the bytes to where they belong.
class LedgerWriter {
 public:
  LedgerWriter() = default;
  LedgerWriter(std::uint32_t rank, std::uint32_t world, bool is_device_time = false);

  void add(const LedgerEntry& entry);
  /// Bytes that wait to be taken.
  [[nodiscard]] std::size_t pending_bytes() const { return entries_.size(); }
  /// The bytes to append to the file: the header, the first time, and what was added since.
  [[nodiscard]] std::string take();
  /// The same and the end. Nothing may be added afterwards.
  [[nodiscard]] std::string finish();

 private:
  std::string entries_;
  std::uint32_t count_ = 0;  ///< Of `entries_`.
  std::uint64_t total_ = 0;
  std::uint32_t rank_ = 0;
  std::uint32_t world_ = 1;
  bool is_device_time_ = false;
  bool has_header_ = false;
};

/// Reads a whole ledger. The constructor checks everything but the entries' own form; LedgerError.
class LedgerReader {
 public:
  /// `bytes` outlive the reader.
  explicit LedgerReader(std::string_view bytes);

  [[nodiscard]] std::uint32_t rank() const { return rank_; }
  [[nodiscard]] std::uint32_t world() const { return world_; }
  /// Whether the times are the device's, to which its scale is not applied.
  [[nodiscard]] bool is_device_time() const { return is_device_time_; }
  [[nodiscard]] std::uint64_t size() const { return size_; }
  /// How many entries have been read.
  [[nodiscard]] std::uint64_t position() const { return position_; }
  /// The next entry, or nothing at the end.
  std::optional<LedgerEntry> next();

 private:
  std::uint64_t read_integer();

  std::string_view bytes_;
  std::size_t at_ = 0;  ///< Of the next entry, or the next frame when the present one is used up.
  std::size_t frame_end_ = 0;
  std::uint64_t size_ = 0;
  std::uint64_t position_ = 0;
  std::uint32_t rank_ = 0;
  std::uint32_t world_ = 0;
  bool is_device_time_ = false;
};

}  // namespace orrery::live
