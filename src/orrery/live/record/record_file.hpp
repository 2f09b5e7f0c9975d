// SPDX-License-Identifier: Apache-2.0
#pragma once
/// What one rank of a real run noted, as read from its file (written by python/orrery/live/recording.py).
#include <cstdint>
#include <string>
#include <vector>

namespace orrery::live {

struct RealOperation {
  std::string name;
  std::uint32_t group = 0;  ///< Index into RealRank::groups.
  std::uint64_t sequence = 0;
  std::int32_t peer = -1;
  std::int64_t bytes = 0;
  std::int64_t posted = 0;  ///< Nanoseconds of the host's clock, here and below.
  std::int64_t returned = 0;
  std::int64_t done = 0;  ///< 0: nobody saw its end.
  bool has_failed = false;
  std::string where;
};

struct RealStretch {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  std::int64_t operation = -1;
};

struct RealGroup {
  std::string name;
  std::vector<std::uint32_t> ranks;
};

struct RealRank {
  std::uint32_t rank = 0;
  std::uint32_t world = 0;
  std::string host;
  std::string clock;  ///< Ranks with the same one read the same clock.
  std::int64_t start = 0;
  std::int64_t begin = 0;  ///< End of the warm-up; 0 = none.
  std::int64_t finish = 0;
  std::int64_t status = 0;
  bool is_fifo = false;  ///< It ran under real-time scheduling.
  std::vector<RealGroup> groups;
  std::vector<RealOperation> operations;
  std::vector<RealStretch> blocked;
  std::vector<RealStretch> sleeps;
};

/// InputError with file and line when it is no such file.
[[nodiscard]] RealRank read_record_file(const std::string& path);

/// All ranks of one launch, in order: the rank.N.record of a folder. InputError when one is missing or they disagree.
[[nodiscard]] std::vector<RealRank> read_record_folder(const std::string& folder);

}  // namespace orrery::live
