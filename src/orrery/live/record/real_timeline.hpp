// SPDX-License-Identifier: Apache-2.0
#pragma once
/// The ranks of one real launch on one clock, in the terms of a simulated run.
#include <vector>

#include "orrery/live/rank_times.hpp"
#include "orrery/live/record/record_file.hpp"

namespace orrery::live {

struct RealTimeline {
  std::vector<RankTimes> ranks;
  std::vector<OperationRecord> operations;  ///< Of all ranks, rank by rank, in the order of their posts.
  Duration
      clock_spread{};  ///< How far apart hosts saw the ends of the same collectives, after their clocks were
                       ///< put together; 0 on one host.
};

/// Time 0 is when the first rank started. Clocks of different hosts are put together by the ends of the collectives
/// that they share: the median difference is the offset.
[[nodiscard]] RealTimeline join_ranks(std::vector<RealRank> ranks);

}  // namespace orrery::live
